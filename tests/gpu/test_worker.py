"""A worker process on a GPU as `voxfleet serve` starts one: it loads, speaks to many at once, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.gpu.device import DEVICE, needs_gpu, needs_service

if TYPE_CHECKING:
    from tests.worker.harness import WorkerProcess

pytestmark = [needs_gpu, needs_service]
SLOTS = 8
TEXT = "The quick brown fox jumps over the lazy dog."
Clip = tuple[np.ndarray, int]
"""Samples in [-1, 1], and how many there are to a second."""


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerProcess]:
    from tests.worker.harness import WorkerProcess

    options = {"model": "bundled", "device": str(DEVICE), "slots": SLOTS, "step_ms": None}
    process = WorkerProcess("cli", log_format="json", **options)
    try:
        status = process.wait_for(lambda status: status.state != "LOADING")
        assert status.state == "IDLE", process.log
        yield process
    finally:
        process.kill()


async def spoken(worker: WorkerProcess, seed: int) -> Clip:
    from tests.worker.harness import Client

    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, seed, request_id=f"r{seed}")
        accepted, *frames = await client.receive_all()
        pcm = b"".join(getattr(frame, "pcm", b"") for frame in frames)
        return np.frombuffer(pcm, "<i2").astype(np.float32) / 2**15, accepted.sample_rate


def test_it_speaks_to_as_many_as_it_has_slots(worker: WorkerProcess) -> None:
    async def together() -> list[Clip]:
        return await asyncio.gather(*(spoken(worker, seed) for seed in range(SLOTS)))

    clips = asyncio.run(together())
    for samples, rate in clips:
        assert 2.0 < len(samples) / rate < 6.0
        assert 0.01 < float(np.sqrt(np.mean(samples**2))) < 0.5
    alone, _ = asyncio.run(spoken(worker, 0))
    assert 0.8 < len(alone) / len(clips[0][0]) < 1.25


def test_a_listener_that_leaves_frees_its_slot(worker: WorkerProcess) -> None:
    from tests.worker.harness import Client

    async def leave() -> None:
        async with worker.connect() as websocket:
            client = Client(websocket)
            await client.start(TEXT, 1)
            await client.receive_audio()

    asyncio.run(leave())
    worker.wait_for(lambda status: status.slots_used == 0)


def test_it_ends_when_it_is_told(worker: WorkerProcess) -> None:
    assert worker.terminate() == 0
    assert not worker.defects()
