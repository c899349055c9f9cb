"""`/vapi` and `/jambonz` of a real gateway, as these services call them."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import soundfile

from tests.gateway.stages.processes import TEXT, GatewayProcess, fleet_for

KEY = "a key of nineteen or more signs"


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY) as gateway:
        yield gateway


async def call(fleet: GatewayProcess, path: str, body: Any, **headers: str) -> httpx.Response:
    async with fleet.http(headers=headers) as http:
        return await http.post(path, json=body)


async def vapi(fleet: GatewayProcess, query: str = "", **message: Any) -> httpx.Response:
    """What Vapi sends: the text, and much about the call."""
    about = {"timestamp": 1.5, "call": {"id": "c"}, "assistant": {"voice": {"provider": "custom-voice"}}}
    told = {"type": "voice-request", "text": TEXT, "sampleRate": 24000} | about | message
    return await call(fleet, f"/vapi{query}", {"message": told}, **{"X-Vapi-Secret": KEY})


async def jambonz(fleet: GatewayProcess, query: str = "", **fields: Any) -> httpx.Response:
    told = {"language": "en-US", "voice": "default", "type": "text", "text": TEXT} | fields
    return await call(fleet, f"/jambonz{query}", told, Authorization=f"Bearer {KEY}")


async def test_vapi_gets_raw_samples_of_the_rate_that_it_asks_for(fleet: GatewayProcess) -> None:
    high, low = [await vapi(fleet, sampleRate=rate) for rate in (24000, 8000)]
    assert high.status_code == low.status_code == 200
    assert high.headers["Content-Type"] == "audio/raw"
    assert len(high.content) > 24000
    assert len(low.content) / len(high.content) == pytest.approx(1 / 3, rel=0.02)
    assert not high.content.startswith(b"RIFF")


async def test_the_address_says_what_a_message_of_vapi_does_not(fleet: GatewayProcess) -> None:
    usual, fast = await vapi(fleet), await vapi(fleet, "?speed=2")
    assert len(fast.content) / len(usual.content) == pytest.approx(0.5, rel=0.1)
    assert (await vapi(fleet, "?voice=nobody")).json()["error"]["code"] == "unknown_voice"
    assert (await vapi(fleet, voiceId="nobody")).json()["error"]["code"] == "unknown_voice"
    assert (await vapi(fleet, "?voice=nobody", voiceId="default")).status_code == 200


async def test_jambonz_gets_an_mp3(fleet: GatewayProcess) -> None:
    answer = await jambonz(fleet)
    assert answer.headers["Content-Type"] == "audio/mpeg"
    assert soundfile.info(io.BytesIO(answer.content)).format == "MP3"
    assert (await jambonz(fleet, voice="nobody")).json()["error"]["code"] == "unknown_voice"


async def test_what_an_agent_leaves_empty_is_not_said(fleet: GatewayProcess) -> None:
    assert (await jambonz(fleet, "?voice=default", voice="", language="")).status_code == 200
    assert (await vapi(fleet, voiceId="")).status_code == 200


async def test_what_is_wrong_with_an_optional_field_is_told_by_its_name(fleet: GatewayProcess) -> None:
    told = [await jambonz(fleet, language="nonsense"), await vapi(fleet, voiceId=5)]
    assert [answer.json()["error"]["param"] for answer in told] == ["language", "message.voiceId"]


async def test_a_document_of_jambonz_is_ssml(fleet: GatewayProcess) -> None:
    def seconds(answer: httpx.Response) -> float:
        return soundfile.info(io.BytesIO(answer.content)).duration

    usual = await jambonz(fleet)
    paused = await jambonz(fleet, type="ssml", text=f'<speak>{TEXT}<break time="3s"/>{TEXT}</speak>')
    assert seconds(paused) > 2 * seconds(usual) + 2
    broken = await jambonz(fleet, type="ssml", text="<speak>")
    assert (broken.status_code, broken.json()["error"]["code"]) == (422, "invalid_ssml")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"type": "transcript"}, "message.type"),
        ({"text": 5}, "message.text"),
        ({"sampleRate": 100}, "message.sampleRate"),
        ({"text": " "}, "text"),
    ],
)
async def test_a_wrong_message_of_vapi_is_refused_by_its_field(
    fleet: GatewayProcess, message: dict[str, Any], field: str
) -> None:
    answer = await vapi(fleet, **message)
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, field)


async def test_agents_need_a_key_where_others_do(fleet: GatewayProcess) -> None:
    for path, body in (
        ("/vapi", {"message": {"type": "voice-request", "text": TEXT}}),
        ("/jambonz", {"text": TEXT}),
    ):
        assert (await call(fleet, path, body)).status_code == 401
        assert (await call(fleet, path, body, **{"X-Vapi-Secret": "wrong"})).status_code == 401
