"""Waiting, leaving and refusing over real processes: whoever comes, goes or does not read leaves nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    StartFleet,
    all_free,
    check_error,
    one_running,
    pcm_of,
    queue_of,
    queued,
)


async def test_waiting_streams_hear_their_position_until_it_is_their_turn(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=60)
    async with gateway.stream(text=LONG_TEXT) as first:
        await first.receive_audio()
        async with gateway.stream(text=TEXT, seed=1) as second, gateway.stream(text=TEXT, seed=2) as third:
            second_place = await second.receive_type("queued")
            third_place = await third.receive_type("queued")
            assert {second_place["position"], third_place["position"]} == {1, 2}
            assert min(second_place["eta_seconds"], third_place["eta_seconds"]) > 0
            shown = await queue_of(gateway)
            assert [ticket["position"] for ticket in shown["queue"]] == [1, 2]
            assert {ticket["ticket_id"] for ticket in shown["queue"]} == {
                second_place["ticket_id"],
                third_place["ticket_id"],
            }
            assert len(shown["running"]) == 1
            await first.cancel()
            assert await second.receive_rest() == await third.receive_rest() == 1000
            last = second if second_place["position"] == 2 else third
            assert [message["position"] for message in last.of_type("queue_update")] == [1]
    assert (second.pcm, third.pcm) == (pcm_of(TEXT, 1), pcm_of(TEXT, 2))


async def test_cancel_ends_a_waiting_and_a_running_stream(start: StartFleet) -> None:
    gateway, workers = start(1, slots=1, step_ms=60)
    async with gateway.stream(text=LONG_TEXT) as running:
        await running.receive_audio()
        async with gateway.stream(text=LONG_TEXT) as waiting:
            await waiting.receive_type("queued")
            for stream in (waiting, running):
                await stream.cancel()
                assert await stream.receive_rest() == 1000
                assert stream.messages[-1] == {"type": "cancelled"}
    await all_free(gateway)
    assert workers[0].wait_for(lambda status: status.slots_used == 0).counters.cancelled == 1


@pytest.mark.parametrize("protocol", ["http", "websocket"])
async def test_a_client_that_leaves_gives_back_its_place_and_its_slot(
    start: StartFleet, protocol: str
) -> None:
    gateway, workers = start(1, slots=1, step_ms=60)

    async def ask() -> None:
        if protocol == "http":
            async with gateway.http() as http:
                await http.post("/tts", json={"text": LONG_TEXT})
        else:
            async with gateway.socket() as stream:
                try:
                    await stream.socket.send(json.dumps({"text": LONG_TEXT}))
                    await stream.receive_rest()
                finally:
                    stream.socket.transport.abort()

    running = asyncio.create_task(ask())
    await one_running(gateway)
    waiting = asyncio.create_task(ask())
    await queued(gateway, 1)
    for client in (waiting, running):
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        if client is waiting:
            await queued(gateway, 0)
    await all_free(gateway)
    workers[0].wait_for(lambda status: status.slots_used == 0)


async def test_a_full_queue_refuses_and_says_when_to_come_back(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=60, gateway={"max_queue": 1})
    async with gateway.stream(text=LONG_TEXT) as running, gateway.http() as http:
        await running.receive_audio()
        async with gateway.stream(text=TEXT, seed=3) as waiting:
            await waiting.receive_type("queued")
            error = check_error(await http.post("/tts", json={"text": TEXT}), 429)
            assert (error["type"], error["code"]) == ("capacity_error", "queue_full")
            async with gateway.stream(text=TEXT) as refused:
                assert await refused.receive_rest() == 1013
            assert refused.messages[-1]["error"]["code"] == "queue_full"
            await running.cancel()
            assert await waiting.receive_rest() == 1000
    assert waiting.pcm == pcm_of(TEXT, 3)


async def test_a_client_that_does_not_read_loses_its_stream_and_not_its_worker(start: StartFleet) -> None:
    gateway, workers = start(
        1, slots=1, step_ms=1, gateway={"client_buffer_bytes": 100_000, "client_stall_seconds": 1}
    )
    async with gateway.socket(max_queue=1) as stream:
        await stream.socket.send(json.dumps({"text": LONG_TEXT * 10}))
        stream.socket.transport.pause_reading()
        workers[0].wait_for(lambda status: status.counters.requests == 1 and status.slots_used == 0)
        await all_free(gateway)
        async with gateway.http() as http:
            assert 'outcome="slow_client"' in (await http.get("/metrics")).text
        stream.socket.transport.abort()


async def test_a_socket_that_says_nothing_is_closed(start: StartFleet) -> None:
    gateway, _ = start(1, gateway={"first_message_timeout_seconds": 0.2})
    async with gateway.socket() as stream:
        assert await stream.receive_rest() == 1008
    assert stream.messages[0]["error"]["code"] == "no_request"
