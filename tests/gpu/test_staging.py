"""Copies between host and device go beside the kernels; neither side sees a value too early or too late."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.staging import HostCopy, Readback, Staging
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
BUSY_CYCLES = 200_000_000
STEPS = 50


def keep_busy(cycles: int = BUSY_CYCLES) -> None:
    """The kernels' stream, for about a tenth of a second."""
    if CUDA:
        torch.cuda._sleep(cycles)


def test_every_step_sees_its_inputs_and_yields_its_outputs() -> None:
    inputs = torch.zeros(1 << 16, device=DEVICE)
    outputs = torch.zeros(1 << 16, device=DEVICE)
    staging, readback = Staging(inputs), Readback(outputs)
    copies: list[HostCopy] = []
    found: list[np.ndarray] = []
    for step in range(STEPS):
        staging.hosts[staging.take()][:] = step
        staging.send()
        keep_busy(BUSY_CYCLES // 100)
        torch.mul(inputs, 2, out=outputs)
        copies.append(readback.take(len(outputs)))
        if step % 3:
            copy = copies.pop(0)
            found.append(copy.wait().copy())
            copy.give_back()
    found += [copy.wait().copy() for copy in copies]
    for step, values in enumerate(found):
        np.testing.assert_array_equal(values, np.full(1 << 16, 2.0 * step))


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_inputs_are_brought_while_the_device_computes() -> None:
    staging = Staging(torch.zeros(1 << 16, device=DEVICE))
    staging.send()
    keep_busy()
    computed = torch.cuda.current_stream().record_event()
    for _ in range(2):
        staging.hosts[staging.take()][:] = 1.0
        staging.send()
    assert not computed.query()


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_outputs_are_fetched_while_the_device_computes() -> None:
    readback = Readback(torch.ones(1 << 16, device=DEVICE))
    copy = readback.take(1 << 16)
    keep_busy()
    computed = torch.cuda.current_stream().record_event()
    assert copy.wait().min() == 1.0
    assert not computed.query()
