"""`POST /v1/audio/speech` of a real gateway, as OpenAI's clients use it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile

from gateway.protocols.openai.request import OPENAI_VOICES
from tests.gateway.audio.files import encoded, speech
from tests.gateway.audio.samples import decoded_seconds
from tests.gateway.stages.processes import (
    LONG_TEXT,
    TEXT,
    GatewayProcess,
    check_error,
    pcm_of,
    started_fleets,
)

RATE = 24000
SPEECH = "/v1/audio/speech"
CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree."}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        aliases = json.dumps({"Narrator": "default", "onyx": "Fable of mine"})
        settings = {"data_dir": tmp_path_factory.mktemp("data"), "voice_aliases": aliases}
        gateway, _ = start(1, slots=4, step_ms=2, gateway=settings)
        audio = {"audio": encoded("webm", speech(6.0))}
        for name in ("nova", "Fable of mine"):
            made = httpx.post(
                f"{gateway.url}/api/voices", files=audio, data={"name": name, **CONSENT}, timeout=30
            )
            assert made.status_code == 201, made.text
        yield gateway
        assert not gateway.defects()


async def ask(fleet: GatewayProcess, path: str = SPEECH, **fields: Any) -> httpx.Response:
    body = {"model": "tts-1", "input": TEXT, "response_format": "pcm", "seed": 5, **fields}
    async with fleet.http() as http:
        return await http.post(path, json=body)


async def events_of(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def test_events_bring_the_audio_and_what_it_took(fleet: GatewayProcess) -> None:
    body = {
        "model": "gpt-4o-mini-tts", "input": TEXT, "voice": {"id": "marin"}, "response_format": "pcm",
        "stream_format": "sse", "instructions": "Speak like a sailor.", "speed": 1.0,
    }  # fmt: skip
    async with fleet.http() as http, http.stream("POST", SPEECH, json=body) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["X-Ignored-Fields"] == "instructions", "the model follows none"
        events = [event async for event in events_of(response)]
    pcm = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert pcm == pcm_of(TEXT, int(response.headers["X-Seed"]))
    usage = events[-1]["usage"]
    assert events[-1]["type"] == "speech.audio.done"
    assert usage["input_tokens"] == len(TEXT) and usage["output_tokens"] == len(pcm) // 2 // 3840
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@pytest.mark.parametrize("voice", sorted(OPENAI_VOICES - {"nova", "onyx"}))
async def test_a_voice_of_openai_that_nobody_made_means_the_default_one(
    fleet: GatewayProcess, voice: str
) -> None:
    assert (await ask(fleet, voice=voice)).content == pcm_of(TEXT, 5)


@pytest.mark.parametrize("voice", ["vivian", "Ryan", "uncle_fu"])
async def test_so_does_one_of_qwen3_tts(fleet: GatewayProcess, voice: str) -> None:
    """As the documents of vLLM-Omni write it."""
    asked = {"voice": voice, "task_type": "CustomVoice", "language": "English", "max_new_tokens": 2048}
    heard = await ask(fleet, model="Qwen/Qwen3-TTS-12Hz-1.7B-CustomVoice", **asked)
    assert heard.content == pcm_of(TEXT, 5)
    assert heard.headers["X-Ignored-Fields"] == "max_new_tokens, task_type"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ref_audio", "data:audio/wav;base64,UklGRg=="),
        ("ref_audio", ["https://example.org/a.wav"]),
        ("references", [{"audio_path": "https://example.org/a.wav", "text": "Okay."}]),
        ("speaker_embedding", [0.1, 0.2]),
    ],
)
async def test_somebody_s_voice_without_a_consent_is_refused(
    fleet: GatewayProcess, field: str, value: Any
) -> None:
    """It was spoken with the default voice, as if that were theirs."""
    error = check_error(await ask(fleet, task_type="Base", ref_text="Okay.", **{field: value}), 422)
    assert (error["code"], error["param"]) == ("not_supported", field)
    assert "consent" in error["message"]
    assert (await ask(fleet, **{field: None})).status_code == 200


async def test_a_voice_of_one_s_own_wins_over_openai_s_name(fleet: GatewayProcess) -> None:
    own, alias, default = [(await ask(fleet, voice=voice)).content for voice in ("nova", "ONYX", "alloy")]
    async with fleet.http() as http:
        native = await http.post("/tts", json={"text": TEXT, "voice": "Nova", "seed": 5, "format": "pcm"})
        voices = (await http.get("/v1/audio/voices")).json()["voices"]
    by_id = await ask(fleet, voice=next(voice["id"] for voice in voices if voice["name"] == "nova"))
    assert own == native.content == by_id.content == alias  # both were made of the same audio
    assert own != default == (await ask(fleet, voice="narrator")).content == pcm_of(TEXT, 5)


async def test_a_voice_that_nobody_knows_is_an_error(fleet: GatewayProcess) -> None:
    assert check_error(await ask(fleet, voice="nobody"), 404)["code"] == "unknown_voice"


@pytest.mark.parametrize("format", ["wav", "mp3", "opus", "aac", "pcm"])
async def test_the_audio_comes_while_it_is_generated(fleet: GatewayProcess, format: str) -> None:
    body = {"model": "tts-1", "input": LONG_TEXT, "response_format": format}
    async with fleet.http() as http, http.stream("POST", SPEECH, json=body) as response:
        assert "Content-Length" not in response.headers
        data = b"".join([piece async for piece in response.aiter_bytes()])
    expected_seconds = len(pcm_of(LONG_TEXT, 0)) / 2 / RATE
    rate = int(response.headers["X-Sample-Rate"])
    assert decoded_seconds(data, format, rate) == pytest.approx(expected_seconds, rel=0.5)


async def test_a_flac_file_has_its_length(fleet: GatewayProcess) -> None:
    whole = await ask(fleet, response_format="flac")
    samples, rate = soundfile.read(io.BytesIO(whole.content), dtype="int16")
    assert (samples.astype("<i2").tobytes(), rate) == (pcm_of(TEXT, 5), RATE)
    streamed = await ask(fleet, response_format="flac", stream=True)
    assert "Content-Length" not in streamed.headers


async def test_a_file_comes_whole_for_who_asks_for_that(fleet: GatewayProcess) -> None:
    whole = await ask(fleet, response_format="wav", stream=False)
    assert int(whole.headers["Content-Length"]) == len(whole.content)
    assert soundfile.info(io.BytesIO(whole.content)).frames == len(pcm_of(TEXT, 5)) // 2


async def test_fields_that_nobody_knows_are_named_and_change_nothing(fleet: GatewayProcess) -> None:
    for stream in (True, False):
        spoken = await ask(fleet, user="me", lang_code="a", stream=stream)
        assert spoken.content == pcm_of(TEXT, 5)
        assert spoken.headers["X-Ignored-Fields"] == "lang_code, user"
    assert "X-Ignored-Fields" not in (await ask(fleet)).headers


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.5, 4.0])
async def test_speech_is_as_fast_as_was_asked(fleet: GatewayProcess, speed: float) -> None:
    spoken = await ask(fleet, speed=speed)
    seconds, expected_seconds = len(spoken.content) / 2 / RATE, len(pcm_of(TEXT, 5)) / 2 / RATE
    assert seconds == pytest.approx(expected_seconds / speed, abs=0.01)
    whole = await ask(fleet, speed=speed, stream=False)
    assert whole.content == spoken.content
    assert float(whole.headers["X-Audio-Seconds"]) == pytest.approx(seconds, abs=1e-5)


@pytest.mark.parametrize("input", ["...", "🎉", "\u2026!"])
@pytest.mark.parametrize("more", [{}, {"stream": False}, {"stream_format": "sse"}, {"record": True}])
async def test_text_without_words_is_a_moment_of_silence(
    fleet: GatewayProcess, input: str, more: dict[str, Any]
) -> None:
    spoken = await ask(fleet, input=input, **more)
    assert spoken.status_code == 200, spoken.text
    if "stream_format" not in more:
        assert spoken.content and not np.frombuffer(spoken.content, "<i2").any()


async def test_no_text_is_an_error(fleet: GatewayProcess) -> None:
    assert check_error(await ask(fleet, input=" "), 422)["param"] == "input"


@pytest.mark.parametrize(
    "path",
    ["/openai/deployments/some-name/audio/speech?api-version=2025-03-01-preview", "/openai/v1/audio/speech"],
)
async def test_azure_s_clients_find_it(fleet: GatewayProcess, path: str) -> None:
    async with fleet.http() as http:
        body = {"input": TEXT, "voice": "alloy", "response_format": "pcm", "seed": 5}
        spoken = await http.post(path, json=body, headers={"api-key": "any"})
    assert spoken.content == pcm_of(TEXT, 5)


async def test_metrics_tell_protocols_apart(fleet: GatewayProcess) -> None:
    await ask(fleet)
    async with fleet.http() as http:
        await http.post("/tts", json={"text": "Yes."})
        metrics = (await http.get("/metrics")).text
    for protocol in ("openai", "voxfleet"):
        assert f'voxfleet_requests_total{{outcome="stop",protocol="{protocol}"}}' in metrics


async def test_a_voice_that_is_made_is_found_by_its_name_at_once(fleet: GatewayProcess) -> None:
    before = (await ask(fleet, voice="echo")).content
    async with fleet.http() as http:
        audio = {"audio": encoded("webm", speech(6.0))}
        made = (await http.post("/api/voices", files=audio, data={"name": "Echo", **CONSENT})).json()
        own = (await ask(fleet, voice="echo")).content
        await http.delete(f"/api/voices/{made['id']}")
    assert before == pcm_of(TEXT, 5) != own
    assert (await ask(fleet, voice="echo")).content == before


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("tts-1-hd", 200),
        ("tts-1-1106", 200),
        ("gpt-4o-mini-tts", 200),
        ("gpt-4o-mini-tts-2025-12-15", 200),
        ("gpt-4o-mini-tts-next", 404),
        ("gpt-4o", 404),
    ],
)
async def test_a_model_of_openai_s_that_speaks_is_there(
    fleet: GatewayProcess, name: str, status: int
) -> None:
    async with fleet.http() as http:
        answer = await http.get(f"/v1/models/{name}")
    assert answer.status_code == status and (status == 404 or answer.json()["id"] == name)
