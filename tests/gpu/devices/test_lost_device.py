"""A kernel writes where nothing is: the engine and its worker end, and say why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.device import CUDA, DEVICE, needs_gpu, needs_service

ROOT = Path(__file__).parents[3]
pytestmark = [needs_gpu, pytest.mark.skipif(not CUDA, reason="tests/worker/test_lost_device.py is for a CPU")]
PROGRAM = """
import sys
import torch
from benchmarks.chaos.illegal_access import write_nowhere
from engine.device.devices import check_device
from engine.errors import DeviceLostError

device = torch.device(sys.argv[1])
check_device(device)
taken = []
try:
    while True:
        taken.append(torch.empty(1 << 30, dtype=torch.uint8, device=device))
except torch.OutOfMemoryError:
    check_device(device)
taken.clear()
write_nowhere(device)
try:
    check_device(device)
except DeviceLostError as error:
    print(error)
"""


def test_the_probe_tells_a_lost_device_from_one_without_memory() -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(DEVICE)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "computes no more: " in result.stdout, result.stderr
    assert "illegal" in result.stdout


@needs_service
def test_a_worker_ends_with_its_device() -> None:
    from tests.worker.harness import WorkerProcess
    from tests.worker.losing import SUPERVISED, check_end, lose_device

    worker = WorkerProcess("losing", SUPERVISED, model="bundled", device=str(DEVICE), slots=4, step_ms=None)
    try:
        status = worker.wait_for(lambda status: status.state != "LOADING")
        assert status.state == "IDLE", worker.log
        check_end(*asyncio.run(lose_device(worker, min_seconds=30.0)))
        assert worker.wait() == 1
    finally:
        worker.kill()
