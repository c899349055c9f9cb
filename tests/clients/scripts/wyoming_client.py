"""The package `wyoming`, as Home Assistant uses it."""

from __future__ import annotations

import os

from cases import main
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeTextFormat,
    SynthesizeVoice,
)

PORT = int(os.environ["WYOMING_PORT"])
TEXT = "The doors open at nine. Please bring your ticket."


async def _heard(client: AsyncTcpClient, last: type) -> float:
    """Seconds of audio up to the event `last`."""
    seconds, started = 0.0, False
    while (event := await client.read_event()) is not None:
        if AudioStart.is_type(event.type):
            started = True
        elif AudioChunk.is_type(event.type):
            assert started
            seconds += AudioChunk.from_event(event).seconds
        elif Error.is_type(event.type):
            raise AssertionError(event.data)
        if last.is_type(event.type):
            return seconds
    raise AssertionError("the gateway has closed")


async def _answer(client: AsyncTcpClient, event: Event) -> Event:
    await client.write_event(event)
    answer = await client.read_event()
    assert answer is not None
    return answer


async def case_describe() -> None:
    async with AsyncTcpClient("127.0.0.1", PORT) as client:
        info = Info.from_event(await _answer(client, Describe().event()))
        (program,) = info.tts
        assert program.supports_synthesize_streaming and program.voices
        assert all(voice.installed and voice.languages for voice in program.voices)
        assert Pong.from_event(await _answer(client, Ping("there?").event())).text == "there?"


async def case_synthesize() -> None:
    async with AsyncTcpClient("127.0.0.1", PORT) as client:
        for voice in (None, SynthesizeVoice(name="default"), SynthesizeVoice(language="en")):
            await client.write_event(Synthesize(text=TEXT, voice=voice).event())
            assert await _heard(client, AudioStop) > 1


async def case_ssml() -> None:
    marked = f'<speak>{TEXT}<break time="2s"/></speak>'
    async with AsyncTcpClient("127.0.0.1", PORT) as client:
        await client.write_event(Synthesize(text=TEXT).event())
        plain = await _heard(client, AudioStop)
        await client.write_event(Synthesize(text=marked, text_format=SynthesizeTextFormat.SSML).event())
        assert 1.5 < await _heard(client, AudioStop) - plain < 2.5


async def case_stream() -> None:
    async with AsyncTcpClient("127.0.0.1", PORT) as client:
        await client.write_event(SynthesizeStart(voice=SynthesizeVoice(name="default")).event())
        for word in TEXT.split():
            await client.write_event(SynthesizeChunk(f"{word} ").event())
        await client.write_event(Synthesize(text=TEXT).event())
        await client.write_event(SynthesizeStop().event())
        assert 1 < await _heard(client, SynthesizeStopped) < 10


async def case_a_voice_that_is_not_there() -> None:
    async with AsyncTcpClient("127.0.0.1", PORT) as client:
        request = Synthesize(text=TEXT, voice=SynthesizeVoice(name="nobody"))
        error = Error.from_event(await _answer(client, request.event()))
        assert error.code == "unknown_voice"
        assert await client.read_event() is None


main(__name__)
