"""Workers that are killed, hang, load, fail or restart in mid-sentence: the listener hears one clip, or is
told.
"""

from __future__ import annotations

import asyncio
import signal

from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    StartFleet,
    Stream,
    all_free,
    check_error,
    one_running,
    pcm_of,
    queue_of,
    workers_of,
)
from tests.worker.harness import WorkerProcess


def worker_of(stream: Stream, workers: list[WorkerProcess]) -> WorkerProcess:
    return workers[int(stream.of_type("started")[0]["worker_id"].removeprefix("w"))]


async def test_a_stream_whose_worker_is_killed_goes_on_elsewhere_without_a_seam(start: StartFleet) -> None:
    gateway, workers = start(2, slots=2, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        for _ in range(3):
            await stream.receive_audio()
        worker_of(stream, workers).kill()
        assert await stream.receive_rest() == 1000
        states = [worker["state"] for worker in await workers_of(gateway)]
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.messages[-1]["migrations"] == 1
    assert len(stream.of_type("started")) == 1
    assert states.count("DOWN") == 1
    await all_free(gateway)


async def test_a_plain_request_survives_its_worker_too(start: StartFleet) -> None:
    gateway, workers = start(2, slots=2, step_ms=20)
    async with gateway.http() as http:
        asking = asyncio.create_task(http.post("/tts", json={"text": LONG_TEXT, "seed": 9, "format": "pcm"}))
        await one_running(gateway)
        running = (await queue_of(gateway))["running"][0]["worker_id"]
        busy = workers[int(running.removeprefix("w"))]
        await asyncio.to_thread(busy.wait_for, lambda status: status.counters.patches > 2)
        busy.kill()
        response = await asking
        metrics = (await http.get("/metrics")).text
    assert response.content == pcm_of(LONG_TEXT, 9)
    assert response.headers["X-Migrations"] == "1"
    assert "voxfleet_migrations_total 1.0" in metrics


async def test_a_stream_whose_worker_hangs_goes_on_and_nothing_stale_comes_through(start: StartFleet) -> None:
    gateway, workers = start(2, slots=2, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        hanging = worker_of(stream, workers)
        hanging.process.send_signal(signal.SIGSTOP)
        while len(stream.pcm) < len(pcm_of(LONG_TEXT, 9)) // 2:
            await stream.receive_audio()
        hanging.process.send_signal(signal.SIGCONT)
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.messages[-1]["migrations"] == 1
    await asyncio.to_thread(gateway.wait_until_serving, 2)


async def test_without_another_worker_the_client_hears_an_error_and_not_silence(start: StartFleet) -> None:
    gateway, workers = start(1, slots=2, step_ms=30, gateway={"failover_timeout_seconds": 0.5})
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT, seed=9) as stream:
        asking = asyncio.create_task(http.post("/tts", json={"text": LONG_TEXT}))
        await stream.receive_audio()
        await asyncio.to_thread(workers[0].wait_for, lambda status: status.slots_used == 2)
        workers[0].kill()
        assert await stream.receive_rest() == 1013
        check_error(await asking, 503)
        assert stream.messages[-1]["error"]["type"] == "capacity_error"
        assert pcm_of(LONG_TEXT, 9).startswith(stream.pcm)
        check_error(await http.post("/tts", json={"text": TEXT}), 503)
        check_error(await http.get("/ready"), 503)
    assert (await workers_of(gateway))[0]["state"] == "DOWN"


async def test_a_restarted_worker_takes_over_the_stream_that_it_dropped(start: StartFleet) -> None:
    gateway, workers = start(1, slots=1, step_ms=30)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        port = workers[0].port
        workers[0].kill()
        start.worker(slots=1, step_ms=5, port=port)
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)


async def test_a_request_that_kills_workers_is_refused_before_it_has_killed_them_all(
    start: StartFleet,
) -> None:
    gateway, _ = start(3, engine="faulty", slots=2, step_ms=5)
    async with gateway.http() as http:
        error = check_error(await http.post("/tts", json={"text": "Please die, engine."}), 500)
        assert error["code"] == "worker_failed"
        alive = await http.post("/tts", json={"text": TEXT, "seed": 1, "format": "pcm"})
    assert alive.content == pcm_of(TEXT, 1)


async def test_a_request_that_fails_in_the_engine_harms_nobody_else(start: StartFleet) -> None:
    gateway, _ = start(2, engine="faulty", slots=2, step_ms=5)
    async with gateway.http() as http:
        check_error(await http.post("/tts", json={"text": "Please fail, request."}), 500)
        ready = await http.get("/ready")
    assert ready.json()["workers"] == 2


async def test_requests_wait_while_the_only_worker_loads(start: StartFleet, tmp_path) -> None:
    gate = tmp_path / "open"
    loading = start.worker("gated", environment={"LOAD_GATE": str(gate)}, slots=1, step_ms=5)
    gateway = start.gateway([loading])
    await asyncio.to_thread(loading.wait_for, lambda status: status.state == "LOADING")
    async with gateway.stream(text=TEXT, seed=4) as stream:
        place = await stream.receive_type("queued")
        assert place["position"] == 1 and place["eta_seconds"] > 0
        gate.touch()
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(TEXT, 4)
