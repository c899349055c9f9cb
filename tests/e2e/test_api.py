"""The public API over real processes: `voxfleet gateway` in front of workers with the synthetic engine.

The synthetic engine renders the same audio for the same text and seed, so that every clip can be compared
byte by byte with what it should be, whichever workers made it and whatever happened to them meanwhile.
"""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import Callable, Iterator
from typing import Any

import av
import httpx
import numpy as np
import pytest
from websockets.exceptions import InvalidStatus

from tests.gateway.processes import GatewayProcess, Stream, eventually
from tests.worker.harness import WorkerProcess, expected_clip

RATE = 24000
TEXT = "The quick brown fox jumps over the lazy dog."
LONG_TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom. " * 4
FORMATS = ("wav", "pcm", "mp3", "flac", "opus", "aac")


def pcm_of(text: str, seed: int) -> bytes:
    return expected_clip(text, seed)[0]


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    """A gateway and two quick workers that most tests share and none of them breaks."""
    workers = [WorkerProcess(slots=2, step_ms=5) for _ in range(2)]
    gateway = GatewayProcess(workers)
    yield gateway.wait_until_serving(2)
    gateway.kill()
    for worker in workers:
        worker.kill()


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[GatewayProcess, list[WorkerProcess]]]]:
    """`start(2, step_ms=50, gateway={...})`: processes of the test's own."""
    started: list[GatewayProcess | WorkerProcess] = []

    def start_fleet(
        count: int, engine: str = "synthetic", gateway: dict[str, Any] | None = None, **options: Any
    ) -> tuple[GatewayProcess, list[WorkerProcess]]:
        workers = [WorkerProcess(engine, **options) for _ in range(count)]
        started.extend(workers)
        process = GatewayProcess(workers, **(gateway or {}))
        started.append(process)
        return process.wait_until_serving(count), workers

    start_fleet.started = started
    yield start_fleet
    for process in started:
        process.kill()


async def workers_of(gateway: GatewayProcess) -> list[dict[str, Any]]:
    async with gateway.http() as http:
        return (await http.get("/api/workers")).json()["workers"]


async def queue_of(gateway: GatewayProcess) -> dict[str, Any]:
    async with gateway.http() as http:
        return (await http.get("/api/queue")).json()


async def all_free(gateway: GatewayProcess) -> None:
    """Until neither gateway nor workers hold or wait for anything."""

    async def poll() -> bool | None:
        queue = await queue_of(gateway)
        used = sum(worker["slots_used"] for worker in await workers_of(gateway))
        return True if not queue["queue"] and not queue["running"] and not used else None

    await eventually(poll, "something is still held")


def check_error(response: httpx.Response, status_code: int) -> dict[str, Any]:
    assert response.status_code == status_code, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    if status_code in (429, 503):
        assert int(response.headers["Retry-After"]) >= 1
    return error


# ---------------------------------------------------------------------------------------------------- POST /tts


@pytest.mark.parametrize("format", FORMATS)
async def test_every_format_carries_the_clip(fleet: GatewayProcess, format: str) -> None:
    async with fleet.http() as http:
        response = await http.post("/tts", json={"text": TEXT, "seed": 5, "format": format})
    assert response.status_code == 200
    expected = np.frombuffer(pcm_of(TEXT, 5), dtype="<i2")
    if format == "pcm":
        assert response.content == expected.tobytes()
        assert response.headers["Content-Type"] == f"audio/pcm;rate={RATE};channels=1"
        return
    with av.open(io.BytesIO(response.content)) as container:
        stream = container.streams.audio[0]
        samples = np.concatenate([frame.to_ndarray().reshape(-1) for frame in container.decode(stream)])
        assert abs(len(samples) / stream.rate - len(expected) / RATE) < 0.15
    if format in ("wav", "flac"):
        assert np.array_equal(samples, expected)


async def test_the_headers_say_how_it_went(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        response = await http.post("/tts", json={"input": TEXT}, headers={"X-Request-Id": "my-request"})
        headers = response.headers
        again = await http.post("/tts", json={"text": TEXT, "seed": int(headers["X-Seed"])})
    assert headers["Content-Type"] == "audio/wav"
    assert headers["X-Request-Id"] == "my-request"
    assert int(headers["X-Sample-Rate"]) == RATE
    assert float(headers["X-Audio-Seconds"]) == pytest.approx((len(response.content) - 44) / 2 / RATE)
    assert 0 <= float(headers["X-Queue-Seconds"]) <= float(headers["X-First-Audio-Seconds"])
    assert (headers["X-Finish-Reason"], headers["X-Migrations"]) == ("stop", "0")
    assert again.content == response.content, "the seed of the answer repeats the clip"


@pytest.mark.parametrize(
    ("format", "rate"), [("wav", 8000), ("pcm", 48000), ("flac", 44100), ("opus", 16000)]
)
async def test_another_sample_rate_is_resampled_to(fleet: GatewayProcess, format: str, rate: int) -> None:
    async with fleet.http() as http:
        response = await http.post(
            "/tts", json={"text": TEXT, "seed": 5, "format": format, "sample_rate": rate}
        )
    assert int(response.headers["X-Sample-Rate"]) == rate
    if format in ("wav", "pcm"):
        samples = (len(response.content) - (44 if format == "wav" else 0)) / 2
        assert abs(samples / rate - len(pcm_of(TEXT, 5)) / 2 / RATE) < 0.001


async def test_min_and_max_seconds_reach_the_worker(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        response = await http.post("/tts", json={"text": LONG_TEXT, "max_seconds": 1.6})
    assert float(response.headers["X-Audio-Seconds"]) == pytest.approx(1.6)
    assert response.headers["X-Finish-Reason"] == "length"


async def test_clients_of_openai_are_understood(fleet: GatewayProcess) -> None:
    body = {"model": "gpt-4o-mini-tts", "input": TEXT, "voice": "default", "response_format": "pcm"}
    async with fleet.http() as http:
        spoken = await http.post("/v1/audio/speech", json=body)
        too_fast = await http.post("/v1/audio/speech", json={**body, "speed": 1.5})
        models = (await http.get("/v1/models")).json()["data"]
    assert spoken.content == pcm_of(TEXT, int(spoken.headers["X-Seed"]))
    assert check_error(too_fast, 422)["param"] == "speed"
    assert [model["id"] for model in models] == ["synthetic"]


@pytest.mark.parametrize(
    ("body", "status_code", "param"),
    [
        ({"text": ""}, 422, "text"),
        ({"text": "   \n"}, 422, "text"),
        ({"text": "x" * 4097}, 422, "text"),
        ({"text": 7}, 422, "text"),
        ({}, 422, "text"),
        ([], 422, None),
        ({"text": TEXT, "voice": "nobody"}, 404, "voice"),
        ({"text": TEXT, "model": "nothing"}, 404, "model"),
        ({"text": TEXT, "format": "ogg"}, 422, "format"),
        ({"text": TEXT, "colour": "red"}, 422, "colour"),
        ({"text": TEXT, "seed": -1}, 422, "seed"),
        ({"text": TEXT, "seed": 2**63}, 422, "seed"),
        ({"text": TEXT, "cfg_value": 11}, 422, "cfg_value"),
        ({"text": TEXT, "inference_timesteps": 0}, 422, "inference_timesteps"),
        ({"text": TEXT, "temperature": -0.1}, 422, "temperature"),
        ({"text": TEXT, "sample_rate": 7999}, 422, "sample_rate"),
        ({"text": TEXT, "max_seconds": 601}, 422, "max_seconds"),
        ({"text": TEXT, "max_seconds": 0.01}, 422, "max_seconds"),
    ],
)
async def test_bad_input_is_refused_by_name(
    fleet: GatewayProcess, body: Any, status_code: int, param: str
) -> None:
    async with fleet.http() as http:
        error = check_error(await http.post("/tts", json=body), status_code)
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    async with fleet.stream(**body) if isinstance(body, dict) else fleet.socket() as stream:
        if not isinstance(body, dict):
            await stream.socket.send(json.dumps(body))
        assert await stream.receive_rest() == 1008
    assert stream.of_type("error")[-1]["error"]["param"] == param


@pytest.mark.parametrize(
    ("content", "content_type", "status_code", "code"),
    [
        (b"{", "application/json", 400, "invalid_json"),
        (b"\x00\xff\xfe", "application/json", 400, None),
        (b"text=hi", "application/x-www-form-urlencoded", 422, "invalid_body"),
        (b"", "application/json", 422, None),
        (b'{"text":"' + b"x" * 70_000 + b'"}', "application/json", 413, "body_too_large"),
        (b"[" * 60_000, "application/json", 400, None),
    ],
)
async def test_what_is_not_json_is_refused(
    fleet: GatewayProcess, content: bytes, content_type: str, status_code: int, code: str | None
) -> None:
    async with fleet.http() as http:
        response = await http.post("/tts", content=content, headers={"Content-Type": content_type})
    error = check_error(response, status_code)
    assert code is None or error["code"] == code


# --------------------------------------------------------------------------------------------------- WS /ws/tts


async def test_a_stream_starts_flows_and_says_how_it_went(fleet: GatewayProcess) -> None:
    async with fleet.stream(text=TEXT, seed=5) as stream:
        started = await stream.receive_type("started")
        assert await stream.receive_rest() == 1000
    assert started["sample_rate"] == RATE
    assert started["worker_id"] in ("w0", "w1")
    assert stream.pcm == pcm_of(TEXT, 5)
    done = stream.messages[-1]
    assert done["type"] == "done"
    assert done["audio_seconds"] == pytest.approx(len(stream.pcm) / 2 / RATE)
    assert (done["finish_reason"], done["migrations"]) == ("stop", 0)
    assert done["first_audio_seconds"] > 0
    assert 0 < done["rtf"] < 1


async def test_a_stream_can_be_resampled(fleet: GatewayProcess) -> None:
    async with fleet.stream(text=TEXT, seed=5, sample_rate=8000) as stream:
        assert await stream.receive_rest() == 1000
    assert stream.of_type("started")[0]["sample_rate"] == 8000
    assert abs(len(stream.pcm) / 2 - len(pcm_of(TEXT, 5)) / 2 / 3) <= 2


async def test_many_streams_at_once_each_get_their_own_clip(fleet: GatewayProcess) -> None:
    async def listen(seed: int) -> None:
        async with fleet.stream(text=TEXT, seed=seed) as stream:
            assert await stream.receive_rest() == 1000
        assert stream.pcm == pcm_of(TEXT, seed)

    await asyncio.gather(*(listen(seed) for seed in range(24)))
    await all_free(fleet)


@pytest.mark.parametrize("garbage", [b"\x00\x01\x02", "{", "[" * 50_000, "null", '{"type":"cancel"}'])
async def test_garbage_as_first_message_is_refused(fleet: GatewayProcess, garbage: str | bytes) -> None:
    async with fleet.socket() as stream:
        await stream.socket.send(garbage)
        assert await stream.receive_rest() == 1008
    assert stream.messages[0]["type"] == "error"


@pytest.mark.parametrize("garbage", [b"\x00\x01\x02", "{", '{"type":"dance"}', '{"text":"more"}'])
async def test_garbage_in_mid_stream_ends_the_request(fleet: GatewayProcess, garbage: str | bytes) -> None:
    async with fleet.stream(text=LONG_TEXT) as stream:
        await stream.receive_audio()
        await stream.socket.send(garbage)
        assert await stream.receive_rest() == 1008
    await all_free(fleet)


async def test_a_huge_message_is_too_large(fleet: GatewayProcess) -> None:
    async with fleet.socket() as stream:
        await stream.socket.send("x" * 70_000)
        assert await stream.receive_rest() == 1009


async def test_a_page_of_another_site_cannot_open_a_stream(fleet: GatewayProcess) -> None:
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{fleet.port}.evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            async with fleet.socket(origin=origin):
                pass
        assert refused.value.response.status_code == 403
    async with fleet.socket(origin=fleet.url) as stream:
        await stream.socket.send(json.dumps({"text": TEXT}))
        assert await stream.receive_rest() == 1000


async def test_a_socket_that_says_nothing_is_closed(start) -> None:
    gateway, _ = start(1, gateway={"first_message_timeout_seconds": 0.2})
    async with gateway.socket() as stream:
        assert await stream.receive_rest() == 1008
    assert stream.messages[0]["error"]["code"] == "no_request"


# ------------------------------------------------------------------------------------------- queue and leaving


async def queued(gateway: GatewayProcess, length: int) -> None:
    async def poll() -> bool | None:
        return True if len((await queue_of(gateway))["queue"]) == length else None

    await eventually(poll, f"the queue does not have {length} tickets")


async def test_waiting_streams_hear_their_position_until_it_is_their_turn(start) -> None:
    gateway, _ = start(1, slots=1, step_ms=30)
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


async def test_cancel_ends_a_waiting_and_a_running_stream(start) -> None:
    gateway, workers = start(1, slots=1, step_ms=30)
    async with gateway.stream(text=LONG_TEXT) as running, gateway.stream(text=LONG_TEXT) as waiting:
        await running.receive_audio()
        await waiting.receive_type("queued")
        for stream in (waiting, running):
            await stream.cancel()
            assert await stream.receive_rest() == 1000
            assert stream.messages[-1] == {"type": "cancelled"}
    await all_free(gateway)
    assert workers[0].wait_for(lambda status: status.slots_used == 0).counters.cancelled == 1


@pytest.mark.parametrize("protocol", ["http", "websocket"])
async def test_a_client_that_leaves_gives_back_its_place_and_its_slot(start, protocol: str) -> None:
    gateway, workers = start(1, slots=1, step_ms=30)

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
    await eventually(lambda: one_running(gateway), "nothing runs")
    waiting = asyncio.create_task(ask())
    await queued(gateway, 1)
    for client in (waiting, running):
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        if client is waiting:
            await queued(gateway, 0)
    await all_free(gateway)
    workers[0].wait_for(lambda status: status.slots_used == 0)


async def one_running(gateway: GatewayProcess) -> bool | None:
    return True if len((await queue_of(gateway))["running"]) == 1 else None


async def test_a_full_queue_refuses_and_says_when_to_come_back(start) -> None:
    gateway, _ = start(1, slots=1, step_ms=30, gateway={"max_queue": 1})
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


async def test_a_client_that_does_not_read_loses_its_stream_and_not_its_worker(start) -> None:
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


# -------------------------------------------------------------------------------------------------------- failover


def worker_of(stream: Stream, workers: list[WorkerProcess]) -> WorkerProcess:
    return workers[int(stream.of_type("started")[0]["worker_id"].removeprefix("w"))]


async def test_a_stream_whose_worker_is_killed_goes_on_elsewhere_without_a_seam(start) -> None:
    gateway, workers = start(2, slots=2, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        for _ in range(3):
            await stream.receive_audio()
        worker_of(stream, workers).kill()
        assert await stream.receive_rest() == 1000
        states = sorted(worker["state"] for worker in await workers_of(gateway))
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.messages[-1]["migrations"] == 1
    assert len(stream.of_type("started")) == 1
    assert states[0] == "DOWN" or "DOWN" in states
    await all_free(gateway)


async def test_a_plain_request_survives_its_worker_too(start) -> None:
    gateway, workers = start(2, slots=2, step_ms=20)
    async with gateway.http() as http:
        asking = asyncio.create_task(http.post("/tts", json={"text": LONG_TEXT, "seed": 9, "format": "pcm"}))
        await eventually(lambda: one_running(gateway), "nothing runs")
        running = (await queue_of(gateway))["running"][0]["worker_id"]
        busy = workers[int(running.removeprefix("w"))]
        await asyncio.to_thread(busy.wait_for, lambda status: status.counters.patches > 2)
        busy.kill()
        response = await asking
        metrics = (await http.get("/metrics")).text
    assert response.content == pcm_of(LONG_TEXT, 9)
    assert response.headers["X-Migrations"] == "1"
    assert "voxfleet_migrations_total 1.0" in metrics


async def test_a_stream_whose_worker_hangs_goes_on_and_nothing_stale_comes_through(start) -> None:
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


async def test_without_another_worker_the_client_hears_an_error_and_not_silence(start) -> None:
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


async def test_a_restarted_worker_takes_over_the_stream_that_it_dropped(start) -> None:
    gateway, workers = start(1, slots=1, step_ms=30)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        port = workers[0].port
        workers[0].kill()
        start.started.append(WorkerProcess(slots=1, step_ms=5, port=port))
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)


async def test_a_request_that_kills_workers_is_refused_before_it_has_killed_them_all(start) -> None:
    gateway, _ = start(3, engine="faulty", slots=2, step_ms=5)
    async with gateway.http() as http:
        error = check_error(await http.post("/tts", json={"text": "Please die, engine."}), 500)
        assert error["code"] == "worker_failed"
        alive = await http.post("/tts", json={"text": TEXT, "seed": 1, "format": "pcm"})
    assert alive.content == pcm_of(TEXT, 1)


async def test_a_request_that_fails_in_the_engine_harms_nobody_else(start) -> None:
    gateway, _ = start(2, engine="faulty", slots=2, step_ms=5)
    async with gateway.http() as http:
        check_error(await http.post("/tts", json={"text": "Please fail, request."}), 500)
        ready = await http.get("/ready")
    assert ready.json()["workers"] == 2


async def test_requests_wait_while_the_only_worker_loads(start, tmp_path) -> None:
    gate = tmp_path / "open"
    loading = WorkerProcess("gated", environment={"LOAD_GATE": str(gate)}, slots=1, step_ms=5)
    gateway = GatewayProcess([loading])
    start.started.extend([loading, gateway])
    await asyncio.to_thread(loading.wait_for, lambda status: status.state == "LOADING")
    async with gateway.stream(text=TEXT, seed=4) as stream:
        place = await stream.receive_type("queued")
        assert (place["position"], place["eta_seconds"]) == (1, None)
        gate.touch()
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(TEXT, 4)


# ------------------------------------------------------------------------------------------- drain, admin, shutdown


async def test_a_drained_worker_finishes_and_gets_nothing_until_it_is_resumed(start) -> None:
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


async def test_an_administrator_ends_waiting_and_running_requests(start) -> None:
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


async def test_the_admin_api_asks_for_the_token_and_speech_does_not(start) -> None:
    gateway, _ = start(1, gateway={"admin_token": "s3cret"})
    async with gateway.http() as http:
        for method, path in (
            ("GET", "/api/workers"),
            ("GET", "/api/events"),
            ("POST", "/api/workers/w0/drain"),
        ):
            check_error(await http.request(method, path), 401)
        assert (await http.get("/api/workers", headers={"Authorization": "Bearer s3cret"})).status_code == 200
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200
    assert not any("s3cret" in line for line in gateway.log)


async def test_events_show_workers_and_queue_as_they_change(fleet: GatewayProcess) -> None:
    async with fleet.http() as http, http.stream("GET", "/api/events") as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        lines = response.aiter_lines()

        async def next_event(name: str) -> dict[str, Any]:
            async for line in lines:
                if line == f"event: {name}":
                    return json.loads((await anext(lines)).removeprefix("data: "))
            raise AssertionError("the stream ended")

        assert len((await next_event("workers"))["workers"]) == 2
        async with fleet.stream(text=LONG_TEXT) as stream:
            await stream.receive_audio()
            async with asyncio.timeout(30):
                while not (await next_event("queue"))["running"]:
                    pass


async def test_workers_with_a_secret_are_reached_with_it_only(start) -> None:
    worker = WorkerProcess(environment={"VOXFLEET_WORKER_SECRET": "between-us"}, step_ms=5)
    start.started.append(worker)
    knowing = GatewayProcess([worker], worker_secret="between-us")
    ignorant = GatewayProcess([worker], worker_secret="guess")
    start.started.extend([knowing, ignorant])
    await asyncio.to_thread(knowing.wait_until_serving, 1)
    async with knowing.http() as http:
        assert (await http.post("/tts", json={"text": TEXT})).status_code == 200
    async with ignorant.http() as http:
        check_error(await http.post("/tts", json={"text": TEXT}), 503)


async def test_a_gateway_that_is_told_to_stop_lets_streams_finish_and_takes_no_more(start) -> None:
    gateway, _ = start(1, slots=2, step_ms=20)
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream, gateway.http() as http:
        await stream.receive_audio()
        gateway.process.send_signal(signal.SIGTERM)

        async def refused() -> httpx.Response | None:
            response = await http.get("/ready")
            return response if response.status_code == 503 else None

        await eventually(refused, "still ready")
        assert check_error(await http.post("/tts", json={"text": TEXT}), 503)["code"] == "shutting_down"
        async with gateway.stream(text=TEXT) as late:
            assert await late.receive_rest() == 1012
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert await asyncio.to_thread(gateway.process.wait, 30) in (0, -signal.SIGTERM)


async def test_what_is_not_done_when_the_gateway_must_stop_is_told_so(start) -> None:
    gateway, _ = start(1, slots=1, step_ms=200, gateway={"shutdown_seconds": 0.3})
    async with gateway.stream(text=LONG_TEXT) as running, gateway.stream(text=TEXT) as waiting:
        await running.receive_audio()
        await waiting.receive_type("queued")
        gateway.process.send_signal(signal.SIGTERM)
        assert await running.receive_rest() == await waiting.receive_rest() == 1012
    assert running.messages[-1]["error"]["code"] == waiting.messages[-1]["error"]["code"] == "shutting_down"


async def test_nothing_that_was_said_is_logged(start) -> None:
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
    gateway.stop()
    assert gateway.log
    assert not [line for line in gateway.log + workers[0].log if "canary" in line]
