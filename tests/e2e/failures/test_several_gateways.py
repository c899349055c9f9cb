"""Several gateways before one worker: none waits for ever, and who dies is waited for by nobody."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from tests.gateway.stages.processes import (
    TEXT,
    GatewayProcess,
    StartFleet,
    eventually,
    pcm_of,
    queue_of,
    started_fleets,
    workers_of,
)
from tests.worker.harness import LONG, WorkerProcess
from voxfleet.client import AsyncClient

Shared = tuple[GatewayProcess, GatewayProcess, WorkerProcess]


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    """Two gateways, and one worker of one slot."""
    with started_fleets() as start:
        worker = start.worker(slots=1, step_ms=20)
        one, other = start.gateway([worker]), start.gateway([worker])
        yield one.wait_until_serving(1), other.wait_until_serving(1), worker


async def shown(gateway: GatewayProcess, **fields: Any) -> dict[str, Any]:
    """The gateway's worker, once it shows such fields."""

    async def poll() -> dict[str, Any] | None:
        (worker,) = await workers_of(gateway)
        return worker if fields.items() <= worker.items() else None

    return await eventually(poll, f"the worker never has {fields}")


@asynccontextmanager
async def kept_busy(gateway: GatewayProcess, clips: int = 4) -> AsyncIterator[list[int]]:
    """So many clients that ask again and again; the list counts each clip that is complete."""
    served: list[int] = []

    async def ask() -> None:
        async with gateway.http() as http:
            while True:
                answer = await http.post("/tts", json={"text": TEXT, "format": "pcm"})
                served.append(answer.status_code)

    async with AsyncExitStack() as stack:
        clients = [asyncio.create_task(ask()) for _ in range(clips)]
        for client in clients:
            stack.callback(client.cancel)

        async def under_way() -> bool | None:
            return True if served and (await queue_of(gateway))["queue"] else None

        await eventually(under_way, "nobody waits")
        yield served
    assert set(served) == {200}


async def test_a_busy_gateway_does_not_starve_another(shared: Shared) -> None:
    """It once took each slot that it freed again, before the other one's next try."""
    busy, other, _ = shared
    async with kept_busy(busy) as served, other.http() as http:
        for seed in range(3):
            before = len(served)
            answer = await http.post("/tts", json={"text": TEXT, "format": "pcm", "seed": seed})
            assert answer.content == pcm_of(TEXT, seed)
            assert len(served) - before <= 4, "the clip that runs, one turn, and answers under way"


async def test_a_gateway_sees_what_another_does_with_its_worker(shared: Shared) -> None:
    one, other, _ = shared
    async with one.stream(text=LONG) as running:
        await running.receive_audio()
        worker = await shown(other, slots_of_others=1)
        assert (worker["state"], worker["slots_used"], worker["slots_total"]) == ("BUSY", 1, 1)
        async with other.stream(text=TEXT, seed=4) as waiting:
            assert (await waiting.receive_type("queued"))["eta_seconds"] > 0
            await running.cancel()
            assert await waiting.receive_rest() == 1000
            assert waiting.pcm == pcm_of(TEXT, 4)
    await shown(one, slots_of_others=0, state="IDLE")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_gateway_that_dies_or_hangs_holds_up_nobody(
    shared: Shared, start: StartFleet, end: signal.Signals
) -> None:
    _, other, worker = shared
    dying = await asyncio.to_thread(start.gateway([worker]).wait_until_serving, 1)
    async with other.stream(text=LONG) as running, AsyncExitStack() as stack:
        await running.receive_audio()
        lost = await stack.enter_async_context(dying.stream(text=LONG))
        await lost.receive_type("queued")
        async with other.stream(text=TEXT, seed=5) as waiting:
            await waiting.receive_type("queued")
            dying.process.send_signal(end)
            await running.cancel()
            assert await waiting.receive_rest() == 1000
            assert waiting.pcm == pcm_of(TEXT, 5)
        if end == signal.SIGSTOP:
            dying.process.send_signal(signal.SIGCONT)
            await lost.receive_audio()


async def test_a_live_session_keeps_its_slot_between_two_sentences(shared: Shared) -> None:
    """At the worker no request runs then, and another gateway waits."""
    one, other, _ = shared
    pcm, ends = b"", []
    async with AsyncClient(one.url) as client, client.live(seed=5) as session, AsyncExitStack() as stack:
        waiting: list[Any] = []
        await session.append("This is the first sentence. ")
        await session.flush()
        async for item in session:
            if isinstance(item, bytes):
                pcm += item
                continue
            ends.append(item["type"])
            if item["type"] == "utterance_done" and not waiting:
                waiting.append(await stack.enter_async_context(other.stream(text=TEXT, seed=6)))
                await waiting[0].receive_type("queued")
                await session.append("Here is the second one.")
                await session.stop()
        assert "queue_update" not in ends and ends[-1] == "done"
        assert await waiting[0].receive_rest() == 1000
    assert pcm == pcm_of("This is the first sentence. ", 5) + pcm_of("Here is the second one.", 5)
    assert waiting[0].pcm == pcm_of(TEXT, 6)
