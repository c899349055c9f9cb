"""What operators do: drain, cancel, watch, authenticate, stop; and what must not be logged."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import httpx
import pytest

from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    StartFleet,
    all_free,
    check_error,
    eventually,
    pcm_of,
    queue_of,
    queued,
)


async def test_a_drained_worker_finishes_and_gets_nothing_until_it_is_resumed(start: StartFleet) -> None:
    gateway, _ = start(1, slots=2, step_ms=20)
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        drained = (await http.post("/api/workers/w0/drain")).json()
        assert drained["state"] == "DRAINING"
        check_error(await http.post("/tts", json={"text": TEXT}), 503)
        check_error(await http.get("/ready"), 503)
        assert await stream.receive_rest() == 1000
        resumed = (await http.post("/api/workers/w0/resume")).json()
        assert resumed["state"] in ("IDLE", "BUSY")
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200
    assert stream.pcm == pcm_of(LONG_TEXT, 9)


async def test_an_administrator_ends_waiting_and_running_requests(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=30)
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT) as running:
        await running.receive_audio()
        waiting = asyncio.create_task(http.post("/tts", json={"text": TEXT}))
        await queued(gateway, 1)
        shown = await queue_of(gateway)
        for ticket in (shown["queue"][0], shown["running"][0]):
            response = await http.delete(f"/api/queue/{ticket['ticket_id']}")
            assert response.json() == {"ticket_id": ticket["ticket_id"], "cancelled": True}
        assert check_error(await waiting, 409)["code"] == "cancelled"
        assert await running.receive_rest() == 1000
        assert running.messages[-1] == {"type": "cancelled"}
        check_error(await http.delete(f"/api/queue/{ticket['ticket_id']}"), 404)
    await all_free(gateway)


async def test_the_admin_api_asks_for_the_token_and_speech_does_not(start: StartFleet) -> None:
    gateway, _ = start(1, gateway={"admin_token": "s3cret-and-long-enough"})
    async with gateway.http(headers={}) as http:
        for method, path in (
            ("GET", "/api/workers"),
            ("GET", "/api/events"),
            ("POST", "/api/workers/w0/drain"),
        ):
            check_error(await http.request(method, path), 401)
        assert (
            await http.get("/api/workers", headers={"Authorization": "Bearer s3cret-and-long-enough"})
        ).status_code == 200
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200
    assert not any("s3cret" in line for line in gateway.log)


async def test_events_show_workers_and_queue_as_they_change(start: StartFleet) -> None:
    gateway, _ = start(2, step_ms=20)
    async with gateway.http() as http, http.stream("GET", "/api/events") as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        lines = response.aiter_lines()

        async def next_event(name: str) -> dict[str, Any]:
            async for line in lines:
                if line == f"event: {name}":
                    return json.loads((await anext(lines)).removeprefix("data: "))
            raise AssertionError("the stream ended")

        assert len((await next_event("workers"))["workers"]) == 2
        async with gateway.stream(text=LONG_TEXT) as stream:
            await stream.receive_audio()
            async with asyncio.timeout(60):
                while not (await next_event("queue"))["running"]:
                    pass


async def test_workers_with_a_secret_are_reached_with_it_only(start: StartFleet) -> None:
    worker = start.worker(environment={"VOXFLEET_WORKER_SECRET": "between-us-alone-1"}, step_ms=5)
    knowing = start.gateway([worker], worker_secret="between-us-alone-1")
    ignorant = start.gateway([worker], worker_secret="a-guess-that-is-wrong")
    await asyncio.to_thread(knowing.wait_until_serving, 1)
    async with knowing.http() as http:
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200
    async with ignorant.http() as http:
        check_error(await http.post("/tts", json={"text": TEXT}), 503)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
async def test_a_gateway_that_is_told_to_stop_lets_streams_finish_and_takes_no_more(
    start: StartFleet, sig: signal.Signals
) -> None:
    gateway, _ = start(1, slots=2, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream, gateway.http() as http:
        await stream.receive_audio()
        gateway.process.send_signal(sig)

        async def refused() -> httpx.Response | None:
            response = await http.get("/ready")
            return response if response.status_code == 503 else None

        await eventually(refused, "still ready")
        assert check_error(await http.post("/tts", json={"text": TEXT}), 503)["code"] == "shutting_down"
        async with gateway.stream(text=TEXT) as late:
            assert await late.receive_rest() == 1012
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert await asyncio.to_thread(gateway.process.wait, 30) == 0


async def test_what_is_not_done_when_the_gateway_must_stop_is_told_so(start: StartFleet) -> None:
    gateway, _ = start(1, slots=1, step_ms=200, gateway={"shutdown_seconds": 0.3})
    async with gateway.stream(text=LONG_TEXT) as running:
        await running.receive_audio()
        async with gateway.stream(text=TEXT) as waiting:
            await waiting.receive_type("queued")
            gateway.process.send_signal(signal.SIGTERM)
            assert await running.receive_rest() == await waiting.receive_rest() == 1012
    assert running.messages[-1]["error"]["code"] == waiting.messages[-1]["error"]["code"] == "shutting_down"


async def test_nothing_that_was_said_is_logged(start: StartFleet) -> None:
    gateway, workers = start(1, step_ms=5)
    async with gateway.http() as http:
        for body in (
            {"text": "canary one"},
            {"text": "canary two", "seed": -1},
            {"text": "canary", "voice": "none"},
        ):
            await http.post("/tts", json=body)
        await http.get("/tts?text=canary")
        assert "canary" not in (await http.get("/metrics")).text
    async with gateway.stream(text="canary three") as stream:
        await stream.receive_rest()
    workers[0].terminate()
    gateway.terminate()
    assert gateway.log
    assert not [line for line in gateway.log + workers[0].log if "canary" in line]
