"""Restarting workers while they are used: by their supervisor's word only, and nobody hears of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.processes import free_port, server
from tests.gateway.callers.administration import ADMIN
from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    GatewayProcess,
    StartFleet,
    check_error,
    eventually,
    pcm_of,
    started_fleets,
    workers_of,
)
from tests.worker.harness import WorkerProcess
from voxfleet.client import AsyncClient, stream_speech


@pytest.fixture(scope="module")
def fleet() -> Iterator[tuple[GatewayProcess, WorkerProcess]]:
    """One of each, for tests that leave them as they were."""
    with started_fleets() as start_fleet:
        gateway, (worker,) = start_fleet(1, step_ms=10)
        yield gateway, worker


async def speak(url: str, text: str, seed: int) -> tuple[bytes, dict[str, Any]]:
    """The clip without help of resume tokens, and its last message."""
    pcm, last = b"", {}
    async for item in stream_speech(url, text, seed=seed, resume=False):
        if isinstance(item, bytes):
            pcm += item
        else:
            last = item
    return pcm, last


async def test_a_restart_under_load_loses_nothing() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["serve", "--port", str(port), "--workers", "2", "--model", "synthetic"]
    with server(arguments, port, "/ready", {"VOXFLEET_WORKER_STEP_MS": "20"}):
        async with httpx.AsyncClient(base_url=url, headers=ADMIN, timeout=60, trust_env=False) as http:

            async def workers() -> dict[str, dict[str, Any]]:
                return {w["id"]: w for w in (await http.get("/api/workers")).json()["workers"]}

            async def all_up() -> dict[str, dict[str, Any]] | None:
                found = await workers()
                return found if all(w["state"] in ("IDLE", "BUSY") for w in found.values()) else None

            before = await eventually(all_up, "two workers are not up")
            assert all(worker["supervised"] for worker in before.values())
            clips = [asyncio.create_task(speak(url, LONG_TEXT, seed)) for seed in range(6)]

            async def busy() -> bool | None:
                return True if (await workers())["w0"]["slots_used"] >= 2 else None

            await eventually(busy, "w0 has no streams")
            answer = await http.post("/api/workers/w0/restart")
            assert answer.status_code == 202, answer.text
            assert answer.json()["state"] == "DRAINING" and answer.json()["restarting"]
            for change in ("restart", "drain", "resume"):
                check_error(await http.post(f"/api/workers/w0/{change}"), 409)

            async def back() -> dict[str, Any] | None:
                worker = (await workers())["w0"]
                new = worker["pid"] != before["w0"]["pid"] and worker["state"] in ("IDLE", "BUSY")
                return worker if new else None

            worker = await eventually(back, "w0 does not come back")
            assert not worker["restarting"]
            assert worker["uptime_seconds"] < before["w0"]["uptime_seconds"] + 60
            for seed, (pcm, last) in enumerate(await asyncio.gather(*clips)):
                assert last["type"] == "done"
                assert pcm == pcm_of(LONG_TEXT, seed)
            assert (await workers())["w1"]["pid"] == before["w1"]["pid"]
            shown = (await http.get("/api/log", params={"limit": 100})).json()["events"]
            kinds = [event["kind"] for event in shown if event["subject"] == "w0"]
            assert {"admin", "worker_draining", "worker_restarted", "worker_up"} <= set(kinds)
            figures = (await workers())["w1"]
            assert figures["requests_served"] >= 2
            assert 0 < figures["first_audio_p50_seconds"] <= figures["first_audio_p95_seconds"]
            assert figures["rtf_p50"] > 0


async def test_a_worker_that_nobody_would_start_again_is_not_ended(
    fleet: tuple[GatewayProcess, WorkerProcess],
) -> None:
    gateway, worker = fleet
    async with gateway.http() as http:
        refused = check_error(await http.post("/api/workers/w0/restart"), 409)
        assert refused["code"] == "worker_not_supervised"
        check_error(await http.post("/api/workers/w9/restart"), 404)
        check_error(await http.post("/api/workers/w0/restart?wait_seconds=-1"), 422)
        assert worker.request("POST", "/shutdown").status_code == 409
        assert worker.health().state == "IDLE"
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200


async def test_requests_wait_for_the_only_worker_while_it_restarts(start: StartFleet) -> None:
    worker = start.worker(environment={"VOXFLEET_WORKER_SUPERVISED": "1"}, step_ms=20)
    port = worker.wait_until_ready().port
    gateway = await asyncio.to_thread(
        lambda: start.gateway([worker], no_worker_grace_seconds=0.2).wait_until_serving(1)
    )
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT, seed=3) as stream:
        await stream.receive_audio()
        assert (await http.post("/api/workers/w0/restart")).status_code == 202
        waiting = asyncio.create_task(http.post("/tts", json={"text": TEXT}))
        assert await stream.receive_rest() == 1000
        assert stream.pcm == pcm_of(LONG_TEXT, 3)
        assert await asyncio.to_thread(worker.process.wait, 60) == 0
        again = start.worker(port=port, step_ms=5)
        assert (await waiting).status_code == 200
        assert again.health().counters.requests >= 1
        (shown,) = await workers_of(gateway)
        assert not shown["restarting"] and shown["uptime_seconds"] >= 0


@pytest.mark.parametrize("paused", [False, True])
async def test_a_live_session_goes_on_byte_for_byte_when_its_worker_restarts(
    start: StartFleet, paused: bool
) -> None:
    gateway, _ = start(2, step_ms=20, environment={"VOXFLEET_WORKER_SUPERVISED": "1"})

    async def read_aloud(restart: bool) -> tuple[bytes, int]:
        """The session's audio, and how often it moved; with `restart`, its worker ends in the middle."""
        pcm, begun = b"", False
        async with AsyncClient(gateway.url) as client, client.live(seed=5) as session, gateway.http() as http:
            await session.append(LONG_TEXT)  # which is not all made before the worker hears of its restart
            async for item in session:
                if isinstance(item, bytes):
                    pcm += item
                    if not begun:
                        begun = True
                        await (session.pause() if paused else session.stop())
                    if restart and not paused:
                        restart = await restart_its_worker(http)
                elif item["type"] == "paused":
                    if restart:
                        await restart_its_worker(http)
                    await session.resume()
                    await session.stop()
        return pcm, item["migrations"]

    async def restart_its_worker(http: httpx.AsyncClient) -> bool:
        (running,) = (await http.get("/api/queue")).json()["running"]
        assert (await http.post(f"/api/workers/{running['worker_id']}/restart")).status_code == 202
        return False

    undisturbed, _ = await read_aloud(restart=False)
    assert await read_aloud(restart=True) == (undisturbed, 1)


async def test_the_log_comes_live_and_holds_no_word_of_a_user(
    fleet: tuple[GatewayProcess, WorkerProcess],
) -> None:
    gateway, _ = fleet
    async with gateway.http() as http, http.stream("GET", "/api/events") as response:
        lines = response.aiter_lines()

        async def next_log() -> list[dict[str, Any]]:
            async for line in lines:
                if line == "event: log":
                    return json.loads((await anext(lines)).removeprefix("data: "))["events"]
            raise AssertionError("the stream ended")

        seen: list[dict[str, Any]] = []
        await http.post("/tts", json={"text": "A secret canary."})
        await http.post("/api/workers/w0/drain")
        await http.put("/api/settings/eta", json={"prior_seconds": 7})
        async with asyncio.timeout(60):
            while not {"started", "worker_up", "worker_draining", "admin", "settings"} <= {
                event["kind"] for event in seen
            }:
                seen += await next_log()
        stored = (await http.get("/api/log?kind=settings&limit=1")).json()["events"]
        assert stored[0]["message"].startswith("prior_seconds = 7, by the administrator at 127.0.0.1")
        assert "canary" not in json.dumps(seen)
        assert (await http.get("/api/settings/eta")).json()["prior_seconds"] == 7
        await http.put("/api/settings/eta", json={"prior_seconds": 5})
        assert (await http.post("/api/workers/w0/resume")).json()["state"] in ("IDLE", "BUSY")


async def test_reports_of_playback_are_counted_and_do_not_end_a_stream(
    fleet: tuple[GatewayProcess, WorkerProcess],
) -> None:
    gateway, _ = fleet
    report = {"type": "stats", "underruns": 1, "played_samples": 2400, "buffered_ms": 120.5}
    async with gateway.stream(text=LONG_TEXT, seed=4) as stream:
        await stream.socket.send(json.dumps(report | {"underruns": 0, "played_samples": 0}))
        await stream.receive_audio()
        for _ in range(3):
            await stream.socket.send(json.dumps(report))
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 4)
    async with gateway.stream(text=LONG_TEXT) as stream:
        await stream.receive_audio()
        await stream.socket.send(json.dumps(report | {"underruns": -1}))
        assert await stream.receive_rest() == 1008
    assert stream.messages[-1]["error"]["param"] == "underruns"
    async with gateway.stream(text=LONG_TEXT) as stream:
        await stream.receive_audio()
        await stream.socket.send(json.dumps(report))
        await stream.cancel()
        assert await stream.receive_rest() == 1000
    assert stream.messages[-1] == {"type": "cancelled"}
    async with gateway.http() as http:
        shown = (await http.get("/metrics")).text
    assert "voxfleet_playback_underruns_total 2.0" in shown
    assert "voxfleet_playback_clips_total 2.0" in shown
    assert "voxfleet_played_seconds_total 0.2" in shown
