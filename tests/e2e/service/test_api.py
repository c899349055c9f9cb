"""The public API over real processes: `voxfleet gateway` in front of workers with the synthetic engine.

The synthetic engine renders the same audio for the same text and seed, so that every clip can be compared
byte by byte with what it should be, whichever workers made it and whatever happened to them meanwhile.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from websockets.exceptions import InvalidStatus

from gateway.audio.note import HEADER, SOFTWARE, SOURCE_TYPE
from gateway.settings import GatewaySettings
from tests.gateway.audio.files import wav_samples
from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    GatewayProcess,
    StartFleet,
    all_free,
    check_error,
    pcm_of,
    started_fleets,
)

RATE = 24000
LIMITS = GatewaySettings.model_fields
FORMATS = ("wav", "pcm", "mp3", "flac", "opus", "aac")


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    """A gateway and two quick workers that most tests share and none of them breaks."""
    with started_fleets() as start:
        gateway, _ = start(2, slots=2, step_ms=5)
        yield gateway


# -------------------------------------------------------------------------------------------------- POST /tts


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
    assert float(headers["X-Audio-Seconds"]) == pytest.approx(len(wav_samples(response.content)) / 2 / RATE)
    assert 0 <= float(headers["X-Queue-Seconds"]) <= float(headers["X-First-Audio-Seconds"])
    assert (headers["X-Finish-Reason"], headers["X-Migrations"]) == ("stop", "0")
    assert again.content == response.content, "the seed of the answer repeats the clip"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("format", FORMATS)
async def test_a_header_says_that_a_model_made_the_clip(
    fleet: GatewayProcess, format: str, stream: bool
) -> None:
    body = {"text": TEXT, "seed": 5, "format": format, "stream": stream}
    async with fleet.http() as http:
        response = await http.post("/tts", json=body)
        health = await http.get("/health")
    assert response.headers[HEADER] == f'software="{SOFTWARE}", digital-source-type="{SOURCE_TYPE}"'
    assert (SOURCE_TYPE.encode() in response.content) == (format != "pcm")
    assert HEADER not in health.headers


async def test_the_note_can_be_left_out(start: StartFleet, tmp_path: Path) -> None:
    gateway, _ = start(1, step_ms=5, gateway={"provenance_note": False, "data_dir": tmp_path})
    for stream in (False, True):
        async with gateway.http() as http:
            body = {"text": TEXT, "format": "wav", "stream": stream, "record": True}
            response = await http.post("/tts", json=body)
            session_id = response.headers["X-Session-Id"]
            recorded = await http.get(f"/api/sessions/{session_id}/audio")
        for answer in (response, recorded):
            assert HEADER not in answer.headers and answer.content[36:40] == b"data"


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
        samples = len(wav_samples(response.content) if format == "wav" else response.content) / 2
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
        too_fast = await http.post("/v1/audio/speech", json={**body, "speed": 4.5})
        models = (await http.get("/v1/models")).json()["data"]
    assert spoken.content == pcm_of(TEXT, int(spoken.headers["X-Seed"]))
    assert check_error(too_fast, 422)["param"] == "speed"
    assert [model["id"] for model in models] == ["synthetic"]


@pytest.mark.parametrize(
    ("body", "status_code", "param"),
    [
        ({"text": ""}, 422, "text"),
        ({"text": "   \n"}, 422, "text"),
        ({"text": "x" * (LIMITS["max_text_characters"].default + 1)}, 422, "text"),
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
        ({"text": TEXT, "inference_timesteps": 1}, 422, "inference_timesteps"),
        ({"text": TEXT, "temperature": -0.1}, 422, "temperature"),
        ({"text": TEXT, "sample_rate": 7999}, 422, "sample_rate"),
        ({"text": TEXT, "max_seconds": LIMITS["max_audio_seconds"].default + 1}, 422, "max_seconds"),
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
        (b" " * (LIMITS["max_body_bytes"].default + 1), "application/json", 413, "body_too_large"),
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


# ------------------------------------------------------------------------------------------------- WS /ws/tts


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
        await stream.socket.send("x" * (LIMITS["max_message_bytes"].default + 1))
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
