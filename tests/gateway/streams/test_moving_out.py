"""Streams that leave a worker which is to be emptied: as many as there is room for, and no more."""

from __future__ import annotations

import asyncio

from gateway.service import Gateway
from tests.gateway.stages.processes import eventually
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import Ear, gateway_of, speak

CANCEL_SECONDS = 0.1
SLOTS = 4
"""Of a scripted worker."""


async def begin(gateway: Gateway, count: int) -> list[asyncio.Task]:
    """So many streams, each of which has brought audio."""
    ears = [Ear() for _ in range(count)]
    speaking = [asyncio.create_task(speak(gateway, ear)) for ear in ears]
    for ear in ears:
        await ear.on_audio.wait()
    return speaking


async def arrived(worker: ScriptedWorker, count: int) -> None:
    """So many streams were begun there; those that went with the last had the time to do so."""

    async def enough() -> bool | None:
        return True if len(worker.requests) == count else None

    await eventually(enough, f"{count} streams on the worker")
    await asyncio.sleep(5 * CANCEL_SECONDS)


async def test_no_more_streams_leave_than_there_is_room_for_elsewhere() -> None:
    """The others would wait without a slot, and end, while the one that they had stands empty."""
    emptied, other = ScriptedWorker([Act(2, "hang")]), ScriptedWorker([Act(2, "hang")])
    async with gateway_of(emptied, other, cancel_timeout_seconds=CANCEL_SECONDS) as gateway:
        first, second = gateway.pool.workers.values()
        with gateway.pool.slots_change(second):
            second.trust.held = True
        speaking = await begin(gateway, SLOTS)
        with gateway.pool.slots_change(second):
            second.trust.held = False
        speaking += await begin(gateway, SLOTS - 1)
        first.moving_out = True
        await arrived(other, SLOTS)
        assert (len(first.leases), len(second.leases), len(gateway.pool.queue)) == (SLOTS - 1, SLOTS, 0)
        speaking[-1].cancel()
        await arrived(other, SLOTS + 1)
        assert (len(first.leases), len(second.leases), len(gateway.pool.queue)) == (SLOTS - 2, SLOTS, 0)
        for task in speaking:
            task.cancel()
        await asyncio.wait(speaking)
