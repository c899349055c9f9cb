"""A voice of one's own in requests that are moved, resumed, spoken in parts, or outlive their voice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from gateway.requests import TtsRequest
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.start import start_request
from tests.gateway.audio.files import speech, wav
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.processes import (
    LONG_TEXT,
    GatewayProcess,
    StartFleet,
    all_free,
    check_error,
    pcm_of,
)
from tests.gateway.stages.processes import workers_of as describe_workers
from tests.worker.harness import WorkerProcess
from worker.protocol import Latents

SECRET = "sixteen characters or more"
CONSENT = {"consent_by": "Ann", "consent_statement": "I agree."}
SEED = 9


async def create(gateway: GatewayProcess, pitch: float = 150.0, **fields: str) -> str:
    """The id of a new voice."""
    audio = wav(speech(4.0, pitch=pitch))
    async with gateway.http() as http:
        response = await http.post(
            "/api/voices",
            files={"audio": ("a.wav", audio)},
            data={"name": f"at {pitch}", **CONSENT, **fields},
        )
    assert response.status_code == 201, response.text
    return response.json()["id"]


async def whole(gateway: GatewayProcess, voice: str, text: str = LONG_TEXT) -> bytes:
    """What the clip is when nothing happens to it."""
    async with gateway.http() as http:
        response = await http.post("/tts", json={"text": text, "voice": voice, "seed": SEED, "format": "pcm"})
    assert response.status_code == 200, response.text
    return response.content


async def call(gateway: GatewayProcess, method: str, path: str, **options: object) -> httpx.Response:
    async with gateway.http() as http:
        return await http.request(method, path, **options)


async def serving(gateway: GatewayProcess, workers: list[WorkerProcess]) -> WorkerProcess:
    """The worker that has the one running request."""
    busy = [worker["url"] for worker in await describe_workers(gateway) if worker["slots_used"]]
    return next(worker for worker in workers if [worker.url] == busy)


@pytest.mark.parametrize("deleted", [False, True])
async def test_a_clip_that_moves_keeps_its_voice_even_a_deleted_one(
    start: StartFleet, tmp_path: Path, deleted: bool
) -> None:
    gateway, workers = start(2, slots=1, step_ms=15, gateway={"data_dir": tmp_path})
    voice = await create(gateway, transcript="Bzz bzz.")
    expected = await whole(gateway, voice)
    assert expected != pcm_of(LONG_TEXT, SEED), "the reference makes a difference"
    async with gateway.stream(text=LONG_TEXT, voice=voice, seed=SEED) as stream:
        await stream.receive_audio()
        if deleted:
            assert (await call(gateway, "DELETE", f"/api/voices/{voice}")).status_code == 200
        (await serving(gateway, workers)).kill()
        assert await stream.receive_rest() == 1000
    assert stream.pcm == expected
    assert stream.messages[-1]["migrations"] == 1
    if deleted:
        answer = await call(gateway, "POST", "/tts", json={"text": "Hi.", "voice": voice})
        assert check_error(answer, 404)["code"] == "unknown_voice"


async def test_any_gateway_resumes_a_clip_with_its_voice(start: StartFleet, tmp_path: Path) -> None:
    settings = {"resume_secret": SECRET, "data_dir": tmp_path}
    first, workers = start(1, slots=2, step_ms=10, gateway=settings)
    second = start.gateway(workers, **settings).wait_until_serving(1)
    voice = await create(first, parameters=json.dumps({"seed": SEED}))
    expected = await whole(first, voice)
    async with first.stream(text=LONG_TEXT, voice=voice, resume=True) as stream:
        while len(stream.of_type("resume_token")) < 3:
            await stream.receive()
        token = "".join(piece["token"] for piece in stream.of_type("resume_token"))
        heard = stream.pcm
    first.kill()
    await call(second, "PATCH", f"/api/voices/{voice}", json={"parameters": {"seed": 1, "cfg_value": 5.0}})
    async with second.socket() as resumed:
        await resumed.socket.send(json.dumps({"resume_token": token}))
        assert await resumed.receive_rest() == 1000
    at = 2 * resumed.of_type("started")[0]["resumed_at_sample"]
    assert 0 < at <= len(heard)
    assert heard[:at] + resumed.pcm == expected
    for change, code in (({"consent_by": None}, "voice_without_consent"), (None, "unknown_voice")):
        if change is None:
            await call(second, "DELETE", f"/api/voices/{voice}")
        else:
            await call(second, "PATCH", f"/api/voices/{voice}", json=change)
        async with second.socket() as refused:
            await refused.socket.send(json.dumps({"resume_token": token}))
            assert await refused.receive_rest() == 1008
        assert refused.messages[-1]["error"]["code"] == code


async def test_voices_that_are_used_together_are_not_mixed_up(start: StartFleet, tmp_path: Path) -> None:
    gateway, _ = start(2, slots=2, step_ms=2, gateway={"data_dir": tmp_path})
    voices = [await create(gateway, pitch) for pitch in (110.0, 220.0, 330.0)]
    alone = [await whole(gateway, voice, "Hello there.") for voice in voices]
    assert len(set(alone)) == 3
    together = await asyncio.gather(*(whole(gateway, voice, "Hello there.") for voice in voices * 4))
    assert together == alone * 4


async def test_a_voice_goes_back_to_the_worker_that_has_it(start: StartFleet, tmp_path: Path) -> None:
    """The worker that is taken first otherwise is busy when the voice is spoken for the first time."""
    gateway, _ = start(2, slots=1, step_ms=20, gateway={"data_dir": tmp_path})
    voice = await create(gateway)

    async def speak(voice: str) -> str:
        async with gateway.stream(text="Hi.", voice=voice) as stream:
            assert await stream.receive_rest() == 1000
        return stream.of_type("started")[0]["worker_id"]

    async with gateway.stream(text=LONG_TEXT) as busy:
        first = (await busy.receive_type("started"))["worker_id"]
        with_voice = await speak(voice)
        await busy.cancel()
        await busy.receive_rest()
    await all_free(gateway)
    assert with_voice != first
    assert [await speak(name) for name in ("default", voice, voice)] == [first, with_voice, with_voice]


async def test_a_voice_outlives_a_restart_of_its_gateway(start: StartFleet, tmp_path: Path) -> None:
    gateway, workers = start(1, step_ms=2, gateway={"data_dir": tmp_path})
    voice = await create(gateway)
    expected = await whole(gateway, voice, "Hello.")
    assert gateway.terminate() == 0
    again = start.gateway(workers, data_dir=tmp_path).wait_until_serving(1)
    assert await whole(again, voice, "Hello.") == expected


def test_every_part_of_a_long_text_is_spoken_with_the_voice() -> None:
    latents = Latents(shape=(1, 4, 64), data=bytes(1024))
    clip = Clip(TtsRequest(text="One part is short. The next one is longer.", voice="Ann"), 1, 600.0)
    clip.conditioning = Conditioning("default", latents, "The words.", latents)
    clip.begin(describe_model(part_characters=24))
    starts = []
    while clip.finish_reason is None:
        starts.append(start_request(clip, "r", 1))
        clip.commit(bytes(1024), 3840)
        starts.append(start_request(clip, "r", 2))
        clip.end_part("stop")
    assert len(starts) == 4
    assert {start.text for start in starts} == {"One part is short.", "The next one is longer."}
    for start in starts:
        assert (start.voice, start.prompt_text) == ("default", "The words.")
        assert start.reference_latents == start.prompt_latents == latents
