"""Live sessions whose workers die, and whose gateway is told to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.e2e.live import LONG, SENTENCES, STORY, owed, running, session, until
from tests.e2e.processes import Server, gateway, worker


@pytest.fixture(scope="module")
def crowd() -> Iterator[tuple[Server, dict[str, Server]]]:
    """Three workers of one slot, two of which will be killed."""
    with (
        worker(slots=1, step_ms=15) as one,
        worker(slots=1, step_ms=15) as two,
        worker(slots=1, step_ms=15) as three,
        gateway([one.url, two.url, three.url], VOXFLEET_STALL_TIMEOUT_SECONDS="0.3") as edge,
    ):
        yield edge, {"w0": one, "w1": two, "w2": three}


async def test_another_worker_goes_on_in_the_middle_of_a_word(
    crowd: tuple[Server, dict[str, Server]],
) -> None:
    edge, workers = crowd
    async with session(edge) as live:
        await live.say("append", text=LONG + STORY)
        started = await live.receive_type("started")
        await live.receive_audio_bytes(4 * 7680)
        workers[started["worker_id"]].kill()
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(LONG, *SENTENCES)
    assert live.messages[-1]["migrations"] == 1
    assert len(live.of_type("started")) == 1


async def test_a_worker_killed_while_paused_costs_nothing_but_the_move(
    crowd: tuple[Server, dict[str, Server]],
) -> None:
    edge, workers = crowd
    async with session(edge) as live:
        await live.say("append", text=LONG)
        await live.say("flush")
        started = await live.receive_type("started")
        await live.receive_audio_bytes(4 * 7680)
        await live.say("pause")
        await live.receive_type("paused")
        await asyncio.sleep(0.8)  # longer than an engine may stand still that is not paused
        assert [entry["attempt"] for entry in await running(edge)] == [1]
        workers[started["worker_id"]].kill()

        async def moved() -> bool:
            places = [entry["worker_id"] for entry in await running(edge)]
            return bool(places) and places != [started["worker_id"]]

        await until(moved)
        heard = len(live.pcm)
        await live.say("resume")
        await live.receive_type("resumed")
        assert len(live.pcm) == heard
        await live.say("stop")
        assert await live.receive_rest() == 1000
    assert live.pcm == owed(LONG)


async def test_a_gateway_that_is_told_to_end_finishes_what_is_being_said() -> None:
    with worker(slots=2, step_ms=15) as one, gateway([one.url]) as edge:
        async with session(edge) as talking, session(edge) as silent:
            await silent.receive_type("started")
            await talking.say("append", text=STORY)
            await talking.receive_audio()
            edge.process.terminate()
            assert await silent.receive_rest() == 1012
            assert await talking.receive_rest() == 1012
        assert await asyncio.to_thread(edge.process.wait, 30) == 0
    assert talking.pcm == owed(*SENTENCES)
    assert talking.messages[-1]["error"]["code"] == "shutting_down"
    assert silent.messages[-1]["error"]["code"] == "shutting_down"
