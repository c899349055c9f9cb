"""S4: what a worker says is believed within bounds: no worker takes the gateway's memory or time."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h11
import numpy as np
import pytest
from prometheus_client import generate_latest
from pydantic import BaseModel, ValidationError
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.metrics import Metrics
from gateway.requests import TtsRequest
from gateway.settings import load_settings
from gateway.synthesis.synthesis import Synthesis
from gateway.voices.latents import LatentCache
from gateway.workers.client import WorkerUnreachable
from gateway.workers.frame_stream import FrameStream
from gateway.workers.metronome import Metronome
from tests.gateway.audio.files import speech, wav
from tests.gateway.stages.fleet import Fleet, describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import Ear, gateway_of
from tests.security.workers.registrar import SHARED, client_of, registrar, said
from worker.protocol import (
    EncodeResponse,
    Latents,
    ProtocolError,
    StartRequest,
    WorkerStatus,
    decode_server_message,
)
from worker.protocol.token_facts import facts_from_json

TOO_MUCH: dict[str, dict[str, Any]] = {
    "slots without end": {"slots_total": 20_000_000},
    "fewer slots than none": {"slots_total": -1},
    "used slots": {"slots_used": 10**9},
    "paused slots": {"slots_paused": -5},
    "step": {"step": 2**64},
    "memory": {"memory_bytes": 10**400},
    "uptime": {"uptime_seconds": 1e300},
    "counter": {"counters": {"requests": -1}},
    "time counted": {"counters": {"audio_seconds": float("nan")}},
    "progress": {"loading": {"stage": "weights", "progress": 1e9}},
    "id": {"worker_id": "w" * 65},
    "id that forges a line": {"worker_id": "w\n12:00 [info] forged"},
    "boot id": {"boot_id": ""},
    "device": {"device": "cpu\x1b[2J"},
    "voices": {"model": {"voices": ["v"] * 1001}},
    "name of a voice": {"model": {"voices": ["v" * 257]}},
    "languages": {"model": {"languages": ["l"] * 300}},
    "features": {"model": {"features": ["f" * 65]}},
    "name of the model": {"model": {"name": "m" * 300}},
    "revision": {"model": {"revision": ""}},
    "no sample rate": {"model": {"sample_rate": 0}},
    "sample rate": {"model": {"sample_rate": 10**9}},
    "patch that fits into no frame": {"model": {"patch_samples": 1 << 20}},
    "latents that fit into no frame": {"model": {"patch_size": 1 << 10, "latent_dim": 1 << 10}},
    "latents of hardly any audio": {"model": {"patch_samples": 1}},
    "text": {"model": {"max_text_characters": 10**12}},
    "guidance": {"model": {"default_cfg_value": float("inf")}},
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_status_beyond_the_bounds_is_none(what: str) -> None:
    assert WorkerStatus.model_validate_json(json.dumps(said()))
    with pytest.raises(ValidationError):
        WorkerStatus.model_validate_json(json.dumps(said(**TOO_MUCH[what])))


async def test_such_a_registration_is_refused_with_its_field() -> None:
    async with registrar(worker_secret=SHARED) as register:
        response = await register(SHARED, status=said(slots_total=20_000_000))
        assert (response.status_code, response.json()["error"]["param"]) == (422, "status.slots_total")
        response = await register(SHARED, url=f"http://{'w' * 300}:1")
        assert (response.status_code, response.json()["error"]["param"]) == (422, "url")


def test_long_reasons_are_cut_and_none_is_lost() -> None:
    assert len(WorkerStatus.model_validate(said(error="e" * 10**6)).error) == 1000
    error = {"message": "m" * 5000, "type": "server_error", "code": "engine_failed"}
    answer = decode_server_message(json.dumps({"type": "error", "error": error}))
    assert len(answer.error.message) == 1000


@pytest.mark.parametrize(
    "message",
    [
        {"type": "error", "error": {"message": "", "type": "server_error", "code": "c" * 65}},
        {"type": "error", "error": {"message": "", "type": "server_error", "code": "Ä\n"}},
        {"type": "paused", "request_id": "r" * 65, "attempt": 1},
        {"type": "paused", "request_id": "r", "attempt": 2**32},
        {"type": "error", "error": {"message": "m" * (1 << 16), "type": "server_error", "code": "c"}},
    ],
)
def test_messages_beyond_the_bounds_are_none(message: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        decode_server_message(json.dumps(message))


async def test_codes_of_workers_make_no_metric_without_end() -> None:
    metrics = Metrics(Fleet().pool)
    for number in range(1000):
        metrics.count_request(f"code_{number}", "native")
    assert generate_latest(metrics.registry).count(b"voxfleet_requests_total{") == 101
    assert b'voxfleet_requests_total{outcome="other",protocol="native"} 900.0' in generate_latest(
        metrics.registry
    )


@asynccontextmanager
async def answering(*pieces: bytes, repeat: int = 1) -> AsyncIterator[str]:
    """A server that answers every request with these bytes; its URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):  # the gateway has had enough
            await reader.readuntil(b"\r\n\r\n")
            for piece in (*pieces[:1], *pieces[1:] * repeat):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_an_answer_is_read_up_to_a_limit() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n", bytes(1 << 16), repeat=1000) as url:
        async with client_of(url) as client:
            with pytest.raises(WorkerUnreachable, match="more than 65536 bytes"):
                await client.control.status()
            with pytest.raises(WorkerUnreachable, match="more than 8388608 bytes"):
                await client.control.encode(b"audio", "reference")


@pytest.mark.parametrize("kind", [EncodeResponse, WorkerStatus])
async def test_of_an_answer_full_of_tiny_values_no_copies_are_made(
    kind: type[BaseModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pydantic copies JSON for each field that is missing in it: 8 MB held up everybody for eight seconds."""
    monkeypatch.setattr(kind, "model_validate_json", lambda json: pytest.fail("it made copies"))
    body = b'{"a":[' + b"[]," * 3000 + b"0]}"
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n", body) as url, client_of(url) as client:
        with pytest.raises(WorkerUnreachable, match="not a worker's"):
            await (
                client.control.status() if kind is WorkerStatus else client.control.encode(b"a", "reference")
            )


async def test_a_status_that_is_no_json_is_none() -> None:
    for body in (b"\xff", b"[" * 60_000, b'{"pid": ' + b"1" * 5000 + b"}"):
        async with answering(b"HTTP/1.1 200 OK\r\n\r\n", body) as url, client_of(url) as client:
            with pytest.raises(WorkerUnreachable, match="not a worker's status"):
                await client.control.status()


def test_of_very_many_wrong_facts_about_tokens_one_is_told() -> None:
    with pytest.raises(ValidationError) as refused:
        facts_from_json(b"[" + b"{}," * 5000 + b"{}]")
    assert refused.value.error_count() == 3, "fields of the first"


async def test_a_packed_answer_is_not_unpacked() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    async with answering(head, b"bomb") as url, client_of(url) as client:
        with pytest.raises(WorkerUnreachable, match="packs"):
            await client.control.status()


async def test_nobody_follows_a_worker_elsewhere() -> None:
    visits = []

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(visited, "127.0.0.1", 0) as elsewhere:
        target = f"http://127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}/inside"
        head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
        async with answering(head) as url, client_of(url) as client:
            with pytest.raises(WorkerUnreachable):
                await client.control.status()
            with pytest.raises(WorkerUnreachable):
                async with client.generate(StartRequest(request_id="r", text="Hi.", seed=1)):
                    pass
        async with answering(head.replace(b"http:", b"ws:")) as url, client_of(url) as client:
            with pytest.raises(WorkerUnreachable):
                async with client.generate(StartRequest(request_id="r", text="Hi.", seed=1)):
                    pass
    assert visits == []


async def test_a_worker_that_speaks_without_end_is_cut_off() -> None:
    worker, ear = ScriptedWorker([Act(0, "endless")]), Ear()
    async with gateway_of(worker, max_migrations=0) as gateway:
        with pytest.raises(ApiError):
            order = TtsRequest(text="On and on.", seed=1, max_seconds=1.0)
            async with asyncio.timeout(60):
                await Synthesis(gateway, order, "r1", ear).run()
        assert len(ear.pcm) / 48_000 < 1.0 + 4 * 0.16


async def test_cookies_of_a_worker_are_shown_to_nobody() -> None:
    """Workers of one host would all be asked with them, until their servers refuse so long a head."""
    asked_with: list[str | None] = []

    class Baker(ScriptedWorker):
        def _health(self, connection: ServerConnection, request: Request) -> Response | None:
            answer = super()._health(connection, request)
            if request.path == "/health":
                asked_with.append(request.headers.get("Cookie"))
                answer.headers["Set-Cookie"] = f"crumb{len(asked_with)}=1"
            return answer

    async with gateway_of(Baker([Act()])) as gateway:
        await gateway.roster.probe(gateway.pool.workers["w0"])
    assert len(asked_with) > 1 and set(asked_with) == {None}


async def test_messages_that_nobody_takes_are_bounded() -> None:
    aborted = asyncio.Event()
    connection = SimpleNamespace(listener=None, transport=SimpleNamespace(abort=aborted.set))
    stream = FrameStream(
        connection, StartRequest(request_id="r", text="", seed=1), load_settings(), Metronome()
    )
    stream.received("the answer")
    for _ in range(4):
        stream.received(bytes(1 << 20))
    assert aborted.is_set()
    assert sum(map(len, stream._waiting)) < 4 << 20


_SHAPES = {"shape": (3, 4, 32), "empty": (0, 4, 64), "too many": (9, 4, 64)}
"""A second of audio has seven patches."""


@pytest.mark.parametrize("case", ["shape", "empty", "too many", "not finite"])
async def test_latents_that_the_model_could_not_have_made_are_not_kept(case: str, tmp_path: Path) -> None:
    shape = _SHAPES.get(case, (3, 4, 64))
    values = np.full(shape, np.nan if case == "not finite" else 0.5, "<f4")
    latents = Latents(shape=shape, data=values.tobytes())

    class Client:
        def __init__(self) -> None:
            self.control = self

        async def encode(self, audio: bytes, role: str) -> EncodeResponse:
            return EncodeResponse(role=role, latents=latents, audio_seconds=1, model_revision="1")

    store, audio = ContentFiles(tmp_path, ".wav"), wav(speech(1.0))
    sha256 = hashlib.sha256(audio).hexdigest()
    await store.save(audio, sha256)
    cache = LatentCache(store, tmp_path / "latents")
    with pytest.raises(WorkerUnreachable, match="cannot be used"):
        await cache.get(sha256, "reference", describe_model(), Client())
    assert not await asyncio.to_thread(lambda: list(tmp_path.rglob("*.latents")))


@pytest.mark.parametrize(
    "head, piece",
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"", b"HTTP/1.1 100 C\r\n\r\n"),
    ],
    ids=["single bytes", "interim answers"],
)
async def test_little_of_an_answer_is_taken_in_one_turn(
    head: bytes, piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """64 KiB of either took a fifth of a second in which nobody's audio went on; and it is cut soon."""
    taken = []
    receive_data = h11.Connection.receive_data
    monkeypatch.setattr(
        h11.Connection, "receive_data", lambda h11, data: (taken.append(len(data)), receive_data(h11, data))
    )
    async with answering(head, piece * 50_000, repeat=2) as url, client_of(url) as client:
        with pytest.raises(WorkerUnreachable, match=r"tiny pieces|does not begin"):
            await client.control.encode(b"a", "reference")
    assert max(taken) <= 1 << 12
    assert sum(taken) <= 1 << 15
