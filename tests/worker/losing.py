"""A worker that loses its device in the middle of a clip."""

from __future__ import annotations

from typing import Any

from benchmarks.chaos.lost_device import SIGNAL
from tests.worker.harness import Client, WorkerProcess
from worker.protocol import ErrorMessage, WorkerState, WorkerStatus

TEXT = "The old lighthouse keeper climbed the stairs every evening to light the lamp above the bay."
SUPERVISED = {"VOXFLEET_WORKER_SUPERVISED": "true"}


async def lose_device(worker: WorkerProcess, min_seconds: float) -> tuple[list[Any], WorkerStatus]:
    """The end of a clip of so many seconds during which a ready worker loses its device, and its status."""
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, min_seconds=min_seconds)
        for _ in range(2):
            await client.receive_audio()
        worker.process.send_signal(SIGNAL)
        end = await client.receive_all_until_last()
    return end, worker.wait_for(lambda status: status.state is WorkerState.ERROR)


def check_end(end: list[Any], status: WorkerStatus) -> None:
    """The clip may go on elsewhere, and the worker says whose fault it is."""
    errors = [message.error for message in end if isinstance(message, ErrorMessage)]
    assert [error.code for error in errors] == ["engine_failed"]
    assert "DeviceLostError" in errors[0].message and end[-1].finish_reason == "error"
    assert status.error.startswith("the engine died: DeviceLostError: the device ")
    assert "computes no more" in status.error
