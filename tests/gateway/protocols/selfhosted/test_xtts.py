"""`/xtts` of a real gateway, as SillyTavern and Voxta ask xtts-api-server."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.gateway.stages.processes import TEXT, GatewayProcess, fleet_for

KEY = "a key of nineteen or more signs"
TAVERN = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY, allowed_origins=TAVERN, voice_aliases='{"Seraphina": "default"}') as gateway:
        yield gateway


async def ask(fleet: GatewayProcess, method: str, path: str, **options: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {KEY}"} | options.pop("headers", {})
    async with fleet.http(headers=headers) as http:
        return await http.request(method, path, **options)


async def say(fleet: GatewayProcess, **body: Any) -> httpx.Response:
    usual = {"text": TEXT, "speaker_wav": "default", "language": "en"}
    return await ask(fleet, "POST", "/xtts/tts_to_audio/", json=usual | body)


async def test_a_clip_is_a_whole_file(fleet: GatewayProcess) -> None:
    answer = await say(fleet, accent="en", save_path="/tmp/x.wav")
    assert answer.headers["Content-Type"] == "audio/wav"
    assert answer.headers["X-Ignored-Fields"] == "accent, save_path"
    with wave.open(io.BytesIO(answer.content)) as file:
        seconds = file.getnframes() / file.getframerate()
    assert seconds == pytest.approx(float(answer.headers["X-Audio-Seconds"]))


@pytest.mark.parametrize(
    "speaker",
    ["default", "Default.wav", "seraphina.wav", "speakers/seraphina.wav", "C:\\s\\default.wav", "", None],
)
async def test_a_voice_may_be_named_by_its_recording(fleet: GatewayProcess, speaker: str | None) -> None:
    assert (await say(fleet, speaker_wav=speaker)).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"speaker_wav": "nobody.wav"}, 404, "there is no voice 'nobody'"),
        ({"speaker_wav": "voices/"}, 422, "voice: "),
        ({"text": " "}, 422, "text has no words"),
        ({"text": None}, 422, "text: "),
        ({"language": "../en"}, 422, "language: "),
    ],
)
async def test_an_error_is_a_sentence(
    fleet: GatewayProcess, body: dict[str, Any], status: int, told: str
) -> None:
    answer = await say(fleet, **body)
    assert answer.status_code == status and answer.json()["detail"].startswith(told)


async def test_speakers_can_be_chosen_and_heard(fleet: GatewayProcess) -> None:
    for path in ("/xtts/speakers", "/xtts/speakers/"):
        speakers = (await ask(fleet, "GET", path, follow_redirects=True)).json()
        preview = f"{fleet.url}/api/voices/default/preview"
        assert speakers == [{"name": "Default", "voice_id": "default", "preview_url": preview}]
    assert (await ask(fleet, "GET", "/xtts/speakers_list")).json() == ["default"]


async def stream(fleet: GatewayProcess, **headers: str) -> httpx.Response:
    query = {"text": TEXT, "speaker_wav": "default", "language": "en"}
    return await ask(fleet, "GET", "/xtts/tts_stream/", params=query, headers=headers)


async def test_a_page_that_is_allowed_plays_a_stream(fleet: GatewayProcess) -> None:
    played = await stream(fleet, **{"Referer": f"{TAVERN}/", "Sec-Fetch-Site": "same-site"})
    assert played.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert played.content.startswith(b"RIFF") and len(played.content) > 10_000
    foreign = {"Referer": "http://evil.example/", "Sec-Fetch-Site": "cross-site"}
    refused = await stream(fleet, **foreign)
    assert refused.status_code == 403 and "another site" in refused.json()["detail"]


async def test_a_page_that_is_allowed_plays_how_a_voice_sounds(fleet: GatewayProcess) -> None:
    preview = (await ask(fleet, "GET", "/xtts/speakers")).json()[0]["preview_url"]
    policies = []
    for page in (TAVERN, "http://evil.example", fleet.url):
        site = "same-origin" if page == fleet.url else "cross-site"
        answer = await ask(fleet, "GET", preview, headers={"Referer": f"{page}/", "Sec-Fetch-Site": site})
        policies.append(answer.headers["Cross-Origin-Resource-Policy"])
    assert policies == ["cross-origin", "same-origin", "same-origin"]


async def test_a_page_that_is_allowed_may_send_what_it_sends(fleet: GatewayProcess) -> None:
    asked = {
        "Origin": TAVERN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "cache-control,content-type",
    }
    answer = await ask(fleet, "OPTIONS", "/xtts/tts_to_audio/", headers=asked)
    assert answer.headers["Access-Control-Allow-Headers"] == "cache-control,content-type"


async def test_a_key_is_needed_where_others_need_one(fleet: GatewayProcess) -> None:
    answer = await ask(
        fleet, "POST", "/xtts/tts_to_audio/", headers={"Authorization": ""}, json={"text": TEXT}
    )
    assert answer.status_code == 401 and isinstance(answer.json()["detail"], str)
