"""Speech in the response while it is generated: `POST /tts` with `stream`, what OpenAI's clients expect."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    GatewayProcess,
    StartFleet,
    all_free,
    check_error,
    one_running,
    pcm_of,
    started_fleets,
)

RATE = 24000


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        yield start(1, slots=2, step_ms=10)[0]


async def events_of(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The server-sent events, as livekit's and OpenAI's clients read them."""
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("format", ["wav", "pcm", "mp3", "flac", "opus", "aac"])
async def test_a_clip_comes_while_it_is_generated(fleet: GatewayProcess, format: str) -> None:
    body = {"text": LONG_TEXT, "seed": 5, "format": format, "stream": True}
    data, pieces_while_running = b"", 0
    async with fleet.http() as http, http.stream("POST", "/tts", json=body) as response:
        assert response.status_code == 200
        assert response.headers["X-Seed"] == "5"
        assert "Content-Length" not in response.headers
        async for piece in response.aiter_bytes():
            data += piece
            pieces_while_running += 1
    rate = int(response.headers["X-Sample-Rate"])
    assert pieces_while_running > 5
    expected_seconds = len(pcm_of(LONG_TEXT, 5)) / 2 / RATE
    assert decoded_seconds(data, format, rate) == pytest.approx(expected_seconds, abs=0.2)
    if format == "pcm":
        assert data == pcm_of(LONG_TEXT, 5)


async def test_what_is_wrong_before_the_first_audio_is_an_error_with_its_status(start: StartFleet) -> None:
    gateway, _ = start(1, gateway={"no_worker_grace_seconds": 0.1})
    async with gateway.http() as http:
        unknown = {"text": TEXT, "voice": "of nobody", "stream": True}
        assert check_error(await http.post("/tts", json=unknown), 404)["code"] == "unknown_voice"
        openai = {"model": "tts-1", "input": " ", "stream_format": "sse"}
        assert check_error(await http.post("/v1/audio/speech", json=openai), 422)["param"] == "input"
        await http.post("/api/workers/w0/drain")
        check_error(await http.post("/tts", json={"text": TEXT, "stream": True}), 503)
    await all_free(gateway)


async def test_a_client_that_leaves_gives_its_slot_back(fleet: GatewayProcess) -> None:
    body = {"text": LONG_TEXT, "stream": True}
    async with fleet.http() as http, http.stream("POST", "/tts", json=body) as response:
        await anext(response.aiter_bytes())
        await one_running(fleet)
    await all_free(fleet)


async def test_a_clip_that_breaks_off_does_not_end_as_if_it_were_whole(start: StartFleet) -> None:
    gateway, (worker,) = start(1, step_ms=40, gateway={"failover_timeout_seconds": 0.1})
    events = []
    openai = {"model": "tts-1", "input": LONG_TEXT, "response_format": "pcm", "stream_format": "sse"}
    async with gateway.http() as http, http.stream("POST", "/v1/audio/speech", json=openai) as told:
        async with http.stream("POST", "/tts", json={"text": LONG_TEXT, "stream": True}) as cut:
            pieces = cut.aiter_bytes()
            await anext(pieces)
            reading = events_of(told)
            events.append(await anext(reading))
            worker.kill()
            with pytest.raises(httpx.RemoteProtocolError):
                async for _ in pieces:
                    pass
        with pytest.raises(httpx.RemoteProtocolError):
            async for event in reading:
                events.append(event)
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
    assert events[-1]["type"] == "speech.audio.error"
    assert set(events[-1]["error"]) == {"message", "type", "param", "code"}
    assert events[-1]["retry_after_seconds"] >= 1


async def test_voices_are_public_and_have_ids_and_names(start: StartFleet) -> None:
    keys = json.dumps({"alice": {"key": "alices-key-is-long-enough"}})
    gateway, _ = start(1, gateway={"api_keys": keys, "anonymous": "false"})
    async with gateway.http() as http:
        voices = (await http.get("/v1/audio/voices")).json()["voices"]
        models = (await http.get("/v1/audio/models")).json()["models"]
    assert voices[0]["id"] == "default" and all(voice["id"] and voice["name"] for voice in voices)
    assert models == [{"id": "synthetic"}]
