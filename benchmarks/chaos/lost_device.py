"""A worker that loses its device when it gets SIGUSR1, as after an illegal access or a memory error:

    python -m benchmarks.chaos.lost_device worker --model bundled --device cuda:1 --port 22400

On CUDA a kernel writes where nothing is, and every later call of this process fails. A CPU cannot be lost:
there steps fail from then on, and so does the probe that asks whether the device still computes. Every step
takes at least STEP_SECONDS: a fast GPU would have spoken the clip before the signal comes.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from engine.model_runner import StepResult
    from engine.scheduling.batch import ScheduledSequence
    from models.voxcpm.runner import VoxCPMRunner

SIGNAL = signal.SIGUSR1
STEP_SECONDS = 0.04
_told = threading.Event()


def listen() -> None:
    """From SIGUSR1 on, the next step of an engine of this process loses its device, if it was armed."""
    signal.signal(SIGNAL, lambda *_: _told.set())


def arm() -> None:
    """Imports the engine, and puts itself before its steps."""
    from models.voxcpm.runner import VoxCPMRunner

    run = VoxCPMRunner.run

    def run_or_lose(runner: VoxCPMRunner, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        if _told.is_set():
            _lose(runner)
        ends_at = time.monotonic() + STEP_SECONDS
        results = run(runner, batch)
        time.sleep(max(0.0, ends_at - time.monotonic()))
        return results

    VoxCPMRunner.run = run_or_lose  # type: ignore[method-assign]


def _lose(runner: VoxCPMRunner) -> None:
    if runner.device.type == "cuda":
        from benchmarks.chaos.illegal_access import write_nowhere

        write_nowhere(runner.device)
        return
    runner.probe = _computes_no_more
    raise RuntimeError("this device was told to be lost")


def _computes_no_more(device: torch.device) -> None:
    from engine.errors import DeviceLostError

    raise DeviceLostError(f"the device {device} computes no more: it was told to be lost")


if __name__ == "__main__":
    from voxfleet.cli import main

    listen()
    arm()
    main()
