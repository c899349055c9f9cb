"""`WS /jambonz` of a real gateway, as jambonz speaks a call of an agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import Mock, call

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from gateway.protocols.telephony.jambonz_stream import JambonzSocket
from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, Stream, fleet_for

KEY = "a key of nineteen or more signs"


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY) as gateway:
        yield gateway


class Call(Stream):
    """One socket of jambonz."""

    async def say(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def hear(self, samples: int) -> None:
        """Wait for so many, but for what depends on where sentences are cut."""
        while len(self.pcm) / 2 < 0.9 * samples:
            await self.receive()


@asynccontextmanager
async def jambonz(
    fleet: GatewayProcess, query: str = "voice=default&language=en-US&sampleRate=8000", key: str = KEY
) -> AsyncIterator[Call]:
    headers = {"Authorization": f"Bearer {key}"}
    url = f"ws://127.0.0.1:{fleet.port}/jambonz?{query}"
    async with connect(url, additional_headers=headers, proxy=None, close_timeout=1) as socket:
        yield Call(socket)


async def samples_of(fleet: GatewayProcess, text: str, rate: int) -> int:
    async with fleet.http(headers={"X-Vapi-Secret": KEY}) as http:
        message = {"type": "voice-request", "text": text, "sampleRate": rate}
        return len((await http.post("/vapi", json={"message": message})).content) // 2


async def test_text_comes_in_pieces_and_is_spoken_until_the_call_ends(fleet: GatewayProcess) -> None:
    whole = await samples_of(fleet, TEXT, 8000)
    async with jambonz(fleet) as socket:
        assert await socket.receive() == {
            "type": "connect",
            "data": {"sample_rate": 8000, "base64_encoding": False},
        }
        for word in TEXT.split():  # jambonz cuts between words, and loses the blank there
            await socket.say("stream", text=word)
        await socket.say("flush")
        await socket.hear(whole)
        await socket.say("stream", text="One more")
        await socket.say("flush")
        await socket.hear(whole + await samples_of(fleet, "One more", 8000))
        await socket.say("stop")
        assert await socket.receive_rest() == 1000
    assert [message["type"] for message in socket.messages] == ["connect"]


async def test_the_rate_is_that_of_the_call(fleet: GatewayProcess) -> None:
    async with jambonz(fleet, "voice=&language=&sampleRate=16000") as socket:
        assert (await socket.receive_type("connect"))["data"]["sample_rate"] == 16000
        await socket.say("stream", text=TEXT)
        await socket.say("flush")
        await socket.hear(await samples_of(fleet, TEXT, 16000))


async def test_stop_is_silence_at_once(fleet: GatewayProcess) -> None:
    async with jambonz(fleet) as socket:
        await socket.say("stream", text=LONG_TEXT * 20)
        await socket.receive_audio()
        await socket.say("stop")
        assert await socket.receive_rest() == 1000
    assert len(socket.pcm) / 2 < 10 * await samples_of(fleet, LONG_TEXT, 8000)


@pytest.mark.parametrize(
    ("message", "done"),
    [
        ({"type": "stream", "text": "Good morning."}, [call.append("Good morning. ")]),
        ({"type": "stream", "text": ""}, []),
        ({"type": "flush"}, [call.flush(told=False)]),
        ({"type": "clear"}, [call.clear()]),
        ({"type": "stop", "reason": None}, [call.cancel()]),
        ({"type": "keepalive"}, []),
        ({"type": "a word of a later version"}, []),
    ],
)
def test_what_each_message_does(message: dict[str, Any], done: list[Any]) -> None:
    socket = object.__new__(JambonzSocket)
    socket._dialogue = dialogue = Mock()
    socket._obey(json.dumps(message))
    assert dialogue.mock_calls == done


def test_a_call_in_which_the_agent_is_silent_goes_on() -> None:
    socket = object.__new__(JambonzSocket)
    socket._dialogue = dialogue = Mock()
    socket.idle()
    assert dialogue.mock_calls == [call.keep_alive()]


@pytest.mark.parametrize("sent", ["{", "[]", '{"type": 5}', '{"type": "stream", "text": 5}', "{}"])
async def test_a_wrong_message_is_answered_and_the_call_goes_on(fleet: GatewayProcess, sent: str) -> None:
    async with jambonz(fleet) as socket:
        await socket.socket.send(sent)
        assert (await socket.receive_type("error"))["error"]
        await socket.say("stream", text=TEXT)
        await socket.receive_audio()


async def test_who_may_not_speak_gets_no_socket(fleet: GatewayProcess) -> None:
    for status, query, key in ((401, "voice=default", "wrong"), (422, "sampleRate=96000", KEY)):
        with pytest.raises(InvalidStatus) as refusal:
            async with jambonz(fleet, query, key):
                pass
        assert refusal.value.response.status_code == status
    async with jambonz(fleet, "voice=nobody") as socket:
        await socket.say("stream", text=TEXT)
        assert "nobody" in (await socket.receive_type("error"))["error"]
        assert await socket.receive_rest() == 1008
