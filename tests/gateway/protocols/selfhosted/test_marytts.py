"""`/process`, `/marytts` and `/api/tts` of a real gateway, as Home Assistant, OpenVoiceOS and scripts ask
MaryTTS and Coqui's server. Many of these clients know a host and a port alone, and no key.
"""

from __future__ import annotations

import http.client
import io
import wave
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from gateway.protocols.selfhosted.forms import most_bytes
from gateway.settings import load_settings
from tests.gateway.stages.processes import TEXT, GatewayProcess, started_fleets

USUAL = {
    "INPUT_TEXT": TEXT,
    "OUTPUT_TYPE": "AUDIO",
    "INPUT_TYPE": "TEXT",
    "LOCALE": "en_US",
    "AUDIO": "WAVE_FILE",
    "VOICE": "cmu-slt-hsmm",
}
"""What Home Assistant sends where nothing is set."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        gateway, _ = start(1, slots=4, step_ms=2)
        yield gateway
        assert not gateway.defects()


async def get(fleet: GatewayProcess, path: str, **fields: str) -> httpx.Response:
    async with fleet.http(headers={}) as client:
        return await client.get(path, params=fields)


async def post(fleet: GatewayProcess, path: str, content: bytes | str, **headers: str) -> httpx.Response:
    async with fleet.http(headers=headers) as client:
        return await client.post(path, content=content)


def seconds(file: bytes) -> float:
    with wave.open(io.BytesIO(file)) as opened:
        return opened.getnframes() / opened.getframerate()


def test_home_assistant_sends_a_form_that_does_not_say_so(fleet: GatewayProcess) -> None:
    durations = []
    for effect in ({}, {"effect_Rate_selected": "on", "effect_Rate_parameters": "durScale:2.0;"}):
        connection = http.client.HTTPConnection("127.0.0.1", fleet.port)
        connection.request("POST", "/process", urlencode(USUAL | effect))
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Content-Type"]) == (200, "audio/wav")
        durations.append(seconds(answer.read()))
        connection.close()
    assert durations[1] / durations[0] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("path", ["/process", "/marytts/process"])
async def test_others_ask_with_a_query(fleet: GatewayProcess, path: str) -> None:
    answer = await get(fleet, path, **(USUAL | {"AUDIO": "WAVE", "effect_Robot_selected": "on"}))
    assert answer.headers["X-Ignored-Fields"] == "effect_Robot_selected"
    assert seconds(answer.content) > 1


async def test_a_query_may_be_posted(fleet: GatewayProcess) -> None:
    assert seconds((await post(fleet, f"/process?{urlencode(USUAL)}", b"")).content) > 1


async def test_a_text_may_be_ssml(fleet: GatewayProcess) -> None:
    marked = {"INPUT_TYPE": "SSML", "INPUT_TEXT": '<speak>One.<break time="3s"/>Two.</speak>'}
    assert seconds((await get(fleet, "/process", **(USUAL | marked))).content) > 3


async def test_voices_are_lines_of_four_words(fleet: GatewayProcess) -> None:
    answer = await get(fleet, "/marytts/voices")
    assert answer.headers["Content-Type"].startswith("text/plain")
    lines = [line.split() for line in answer.text.strip().split("\n")]
    assert all(len(line) == 4 for line in lines) and {line[0] for line in lines} == {"default"}


async def test_coqui_s_clients_name_what_they_leave_empty(fleet: GatewayProcess) -> None:
    usual = {"text": TEXT, "speaker_id": "", "style_wav": "", "language_id": ""}
    for answer in (
        await get(fleet, "/api/tts", **usual),
        await get(fleet, "/api/tts", **(usual | {"speaker_wav": "voices/default.wav"})),
        await post(fleet, "/api/tts", urlencode(usual)),
    ):
        assert "X-Ignored-Fields" not in answer.headers and seconds(answer.content) > 1


@pytest.mark.parametrize(
    ("path", "fields", "status", "told"),
    [
        ("/process", {"VOICE": "nobody"}, 404, "there is no voice"),
        ("/process", {"INPUT_TEXT": " "}, 422, "text has no words"),
        ("/process", {"AUDIO": "AIFF_FILE"}, 422, "AUDIO: "),
        ("/process", {"OUTPUT_TYPE": "PHONEMES"}, 422, "OUTPUT_TYPE: "),
        ("/process", {"LOCALE": "en_"}, 422, "LOCALE: "),
        (
            "/process",
            {"effect_Rate_selected": "on", "effect_Rate_parameters": "durScale:9"},
            422,
            "effect_Rate_parameters: ",
        ),
        ("/marytts/process", {"VOICE": "nobody"}, 404, "there is no voice"),
        ("/api/tts", {"text": TEXT, "speaker_id": "nobody"}, 404, "there is no voice"),
        ("/api/tts", {"text": ""}, 422, "text has no words"),
        ("/api/tts", {}, 422, "text: "),
    ],
)
async def test_an_error_is_one_line(
    fleet: GatewayProcess, path: str, fields: dict[str, str], status: int, told: str
) -> None:
    answer = await get(fleet, path, **((USUAL if "process" in path else {}) | fields))
    assert answer.status_code == status and answer.json()["error"].startswith(told)


@pytest.mark.parametrize("form", [b"\xff", b"INPUT_TEXT=%FF", b"&".join([b"a=b"] * 300)])
async def test_what_is_no_form_is_told_of(fleet: GatewayProcess, form: bytes) -> None:
    answer = await post(fleet, "/process", form)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])


async def test_a_form_is_no_longer_than_the_longest_clip_makes_it(fleet: GatewayProcess) -> None:
    most = most_bytes(load_settings())
    text = urlencode({"INPUT_TEXT": "𝄞" * load_settings().max_clip_characters})
    assert len(text) < most
    assert (await post(fleet, "/process", text + "&VOICE=nobody")).status_code == 404
    for path in ("/process", "/marytts/process", "/api/tts"):
        assert (await post(fleet, path, b"a" * (most + 1))).status_code == 413


@pytest.mark.parametrize("path", ["/process", "/marytts/process", "/api/tts"])
async def test_pages_of_other_sites_hear_nothing(fleet: GatewayProcess, path: str) -> None:
    fields = urlencode(USUAL | {"text": TEXT})
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        kind: dict[str, Any] = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        assert (await post(fleet, path, fields, **kind)).status_code == 403
        async with fleet.http(headers=headers) as client:
            assert (await client.get(f"{path}?{fields}")).status_code == 403


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/process", USUAL),
        ("/marytts/process", USUAL),
        ("/api/tts", {"text": TEXT}),
        ("/xtts/tts_stream/", {"text": TEXT, "speaker_wav": "default", "language": "en"}),
    ],
)
async def test_nothing_is_spoken_for_who_asks_what_would_be(
    fleet: GatewayProcess, path: str, fields: dict[str, str]
) -> None:
    async with fleet.http(headers={}) as client:
        asked, refused = await client.head(path, params=fields), await client.head(path)
    assert (asked.status_code, asked.headers["Content-Type"]) == (200, "audio/wav")
    assert "Content-Length" not in asked.headers and "X-Session-Id" not in asked.headers
    assert refused.status_code == 422
