"""Copies between host and device go beside the kernels; neither side sees a value too early or too late."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.device.side_stream import HandOver, SideStream
from engine.device.staging import HostCopy, Readback, Staging
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
BUSY_CYCLES = 200_000_000
STEPS = 50


def keep_busy(cycles: int = BUSY_CYCLES) -> None:
    """The kernels' stream, for about a tenth of a second."""
    if CUDA:
        with torch.cuda.device(DEVICE):
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
    computed = torch.cuda.current_stream(DEVICE).record_event()
    for _ in range(2):
        staging.hosts[staging.take()][:] = 1.0
        staging.send()
    assert not computed.query()


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_outputs_are_fetched_while_the_device_computes() -> None:
    readback = Readback(torch.ones(1 << 16, device=DEVICE))
    copy = readback.take(1 << 16)
    keep_busy()
    computed = torch.cuda.current_stream(DEVICE).record_event()
    assert copy.wait().min() == 1.0
    assert not computed.query()


@pytest.mark.skipif(not CUDA, reason="on the CPU nothing is handed over")
@pytest.mark.parametrize("slow", ["side", "current"])
def test_what_is_handed_over_is_what_stood_there(slow: str) -> None:
    """Whichever stream is behind; the tensor is written again at once."""
    side, source = SideStream(DEVICE, "test"), torch.zeros(4, 1 << 14, device=DEVICE)
    handed = HandOver(source, side)
    found = []
    for step in range(STEPS):
        if slow == "current":
            keep_busy(BUSY_CYCLES // 100)
        source.fill_(step)
        handed.send(3)
        source.fill_(-1)
        with side.on():
            if slow == "side":
                keep_busy(BUSY_CYCLES // 100)
            found.append(handed.target[:3].clone())
    side.join()
    for step, values in enumerate(found):
        assert (values == step).all()


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_the_current_stream_goes_on_while_the_side_is_busy() -> None:
    side = SideStream(DEVICE, "test")
    handed = HandOver(torch.zeros(4, 4, device=DEVICE), side)
    torch.cuda.synchronize(DEVICE)
    with side.on():
        keep_busy()
        aside = torch.cuda.current_stream(DEVICE).record_event()
    handed.send(4)
    torch.cuda.current_stream(DEVICE).record_event().synchronize()
    assert not aside.query()
