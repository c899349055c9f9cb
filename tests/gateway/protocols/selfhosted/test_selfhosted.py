"""`/dev/captioned_speech` and `/piper` of a real gateway, as clients of Kokoro-FastAPI and of Piper ask."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import soundfile

from tests.gateway.stages.processes import TEXT, GatewayProcess, fleet_for

KEY = "a key of nineteen or more signs"
CAPTIONED = "/dev/captioned_speech"


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY) as gateway:
        yield gateway


async def ask(fleet: GatewayProcess, path: str, key: str = KEY, **body: Any) -> httpx.Response:
    async with fleet.http(headers={"Authorization": f"Bearer {key}"}) as http:
        return await http.post(path, json=body)


async def captioned(fleet: GatewayProcess, **body: Any) -> httpx.Response:
    """With what Kokoro's own example sends, and fields of its own."""
    usual = {"model": "kokoro", "input": TEXT, "voice": "af_heart", "speed": 1.0, "response_format": "wav"}
    kokoros = {"lang_code": "a", "volume_multiplier": 1.0, "normalization_options": {"normalize": True}}
    return await ask(fleet, CAPTIONED, **(usual | kokoros | body))


def seconds(audio: bytes) -> float:
    return soundfile.info(io.BytesIO(audio)).duration


def check_words(words: list[dict[str, Any]], duration: float) -> None:
    assert [word["word"] for word in words] == TEXT.split()
    times = [time for word in words for time in (word["start_time"], word["end_time"])]
    assert times == sorted(times) and times[0] >= 0 and 0 < times[-1] <= duration


async def test_a_captioned_clip_is_one_object(fleet: GatewayProcess) -> None:
    answer = await captioned(fleet, stream=False)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Ignored-Fields"] == "lang_code, normalization_options, volume_multiplier"
    told = answer.json()
    assert set(told) == {"audio", "audio_format", "timestamps"} and told["audio_format"] == "audio/wav"
    check_words(told["timestamps"], seconds(base64.b64decode(told["audio"])))


async def test_a_captioned_clip_comes_in_lines(fleet: GatewayProcess) -> None:
    lines = [json.loads(line) for line in (await captioned(fleet, response_format="mp3")).text.splitlines()]
    assert len(lines) > 2
    assert all(set(line) == {"audio", "audio_format", "timestamps"} for line in lines)
    assert {line["audio_format"] for line in lines} == {"audio/mpeg"}
    audio = b"".join(base64.b64decode(line["audio"]) for line in lines)
    check_words([word for line in lines for word in line["timestamps"]], seconds(audio))


async def test_words_are_told_unless_nobody_wants_them(fleet: GatewayProcess) -> None:
    for stream in (False, True):
        answer = await captioned(fleet, return_timestamps=False, stream=stream)
        assert not any(json.loads(line)["timestamps"] for line in answer.text.splitlines())


@pytest.mark.parametrize("voice", ["af_bella", "bm_george(2)+af_sky(1.5)-zf_xiaobei", "alloy"])
async def test_a_name_of_kokoro_that_nobody_has_is_the_default_voice(
    fleet: GatewayProcess, voice: str
) -> None:
    for path in (CAPTIONED, "/v1/audio/speech"):
        assert (await ask(fleet, path, input=TEXT, voice=voice)).status_code == 200


@pytest.mark.parametrize("voice", ["af_bella+nobody", "af-bella", "nobody", "af_bella+"])
async def test_other_names_are_told_of(fleet: GatewayProcess, voice: str) -> None:
    for path in (CAPTIONED, "/v1/audio/speech"):
        assert (await ask(fleet, path, input=TEXT, voice=voice)).status_code == 404


async def test_piper_s_clients_get_a_wav_file(fleet: GatewayProcess) -> None:
    usual, slow = [
        await ask(fleet, "/piper", text=TEXT, voice=None, length_scale=scale, speaker_id=0, noise_scale=0.6)
        for scale in (1.0, 2.0)
    ]
    assert usual.headers["Content-Type"] == "audio/wav"
    assert usual.headers["X-Ignored-Fields"] == "noise_scale, speaker_id"
    samples = [len(answer.content) for answer in (usual, slow)]  # a streamed file does not know its length
    assert samples[1] / samples[0] == pytest.approx(2, rel=0.1)
    async with fleet.http() as http:
        voices = (await http.get("/piper/voices")).json()
    assert voices["default"] == {"name": "Default", "language": {"code": None}}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (CAPTIONED, {"input": 5}, 422, "invalid_value"),
        (CAPTIONED, {"voice": "default"}, 422, "missing_field"),
        ("/piper", {"text": " "}, 422, "empty_text"),
        ("/piper", {"text": TEXT, "length_scale": 0}, 422, "invalid_value"),
        ("/piper", {"text": TEXT, "voice": "nobody"}, 404, "unknown_voice"),
    ],
)
async def test_an_error_is_in_detail(
    fleet: GatewayProcess, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = await ask(fleet, path, **body)
    detail = answer.json()["detail"]
    assert (answer.status_code, detail["error"]) == (status, code)
    assert set(detail) == {"error", "message", "type"} and detail["message"]


async def test_both_need_a_key_where_others_do(fleet: GatewayProcess) -> None:
    for path, body in ((CAPTIONED, {"input": TEXT}), ("/piper", {"text": TEXT})):
        refused = await ask(fleet, path, key="wrong", **body)
        assert (refused.status_code, refused.json()["detail"]["error"]) == (401, "invalid_api_key")
