"""Kernels that are to be compiled ahead are noted, not launched, and found in the cache afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = [needs_gpu, pytest.mark.skipif(not CUDA, reason="the interpreter compiles nothing")]


def test_noted_kernels_are_left_out_and_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.kernels import ahead
    from engine.kernels.norms.norm import rms_norm

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ahead, "WORTH_PROCESSES", 1)
    x, weight = torch.randn(4, 1328, device=DEVICE), torch.ones(1328, device=DEVICE)
    rehearsed = []

    def rehearse() -> None:
        rehearsed.append(rms_norm(x, weight, 1e-5))

    assert ahead.compile_ahead(rehearse, "one norm") == 1
    assert list(tmp_path.rglob("*.cubin"))
    assert ahead.compile_ahead(rehearse, "one norm") == 0 and len(rehearsed) == 1
    expected = torch.nn.functional.rms_norm(x, (1328,), weight, 1e-5)
    assert torch.allclose(rms_norm(x, weight, 1e-5), expected, atol=1e-5)
