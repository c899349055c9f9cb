"""bf16 on this device is as close to fp32 as bf16 on a CPU, and no further than the published package."""

from __future__ import annotations

import pytest
import torch

from benchmarks.gpu import accuracy as gpu_accuracy
from benchmarks.gpu.accuracy import GOLDEN, errors, golden_case, our_values
from benchmarks.shared.published import reason_missing
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.parity import load_golden
from tests.gpu.device import DEVICE, needs_gpu

pytestmark = needs_gpu


@pytest.mark.parametrize("name", ["tiny_v1", "tiny_v2"])
def test_bf16_is_as_close_to_fp32_as_on_a_cpu(name: str) -> None:
    exact, cpu, here = (
        load_checkpoint(GOLDEN / name, device, dtype=dtype)
        for device, dtype in (
            ("cpu", torch.float32), ("cpu", torch.bfloat16), (str(DEVICE), torch.bfloat16),
        )
    )  # fmt: skip
    found: dict[str, list[float]] = {}
    usual: dict[str, list[float]] = {}
    for golden in load_golden(GOLDEN / name / "golden"):
        case = golden_case(exact, golden)
        for checkpoint, rows in ((here, found), (cpu, usual)):
            moved = case.to(checkpoint.device)
            for tensor, error in errors(our_values(checkpoint, moved), moved.truth).items():
                rows.setdefault(tensor, []).append(error)
    for tensor in ("lm_hidden", "residual_hidden", "mu", "latents"):
        assert sum(found[tensor]) < 1.5 * sum(usual[tensor]), (tensor, found[tensor], usual[tensor])


def test_no_further_from_fp32_than_the_published_package() -> None:
    if reason := reason_missing():
        pytest.skip(reason)
    assert gpu_accuracy.main(["--device", str(DEVICE), "--no-save"]) == 0
