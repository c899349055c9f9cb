"""Every attention back end that serves this device passes the conformance suite, graph replay included."""

from __future__ import annotations

import pytest
import torch

from benchmarks.gpu.kernels.attention import conformance
from engine.attention.selection import BACKENDS
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
REQUIRED = {"triton", "sdpa"}
"""These serve any CUDA device; the others depend on what is installed."""


@pytest.mark.parametrize("name", BACKENDS if CUDA else ["sdpa"])
def test_a_back_end_conforms(name: str) -> None:
    with torch.inference_mode():
        report = conformance(name, DEVICE)
    assert not report["failed"], report["failed"][:5]
    if not report["passed"]:
        assert name not in REQUIRED, report["refused"]
        pytest.skip(f"{name} does not serve this device: {report['refused'][:2]}")
