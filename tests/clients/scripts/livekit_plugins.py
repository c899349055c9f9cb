"""LiveKit's plugins for Cartesia, Deepgram, ElevenLabs, Fish Audio and OpenAI, as an agent uses them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
from cases import main
from livekit.agents import APIConnectionError, APIStatusError, tokenize, tts
from livekit.plugins import cartesia, deepgram, elevenlabs, fishaudio, openai

URL, KEY = os.environ["URL"], os.environ["KEY"]
TEXT = "The doors open at nine. Please bring your ticket. We look forward to seeing you."
OTHER = "Something else entirely."
Plugin = Callable[..., AbstractAsyncContextManager[tts.TTS]]


def _plugin(kind: type[tts.TTS], path: str, **usual: object) -> Plugin:
    """What makes a speaker of its kind, with a session of its own."""

    @asynccontextmanager
    async def made(**options: object) -> AsyncIterator[tts.TTS]:
        options = {"api_key": KEY, "base_url": URL + path, **usual, **options}
        async with aiohttp.ClientSession() as session:
            speaker = kind(http_session=session, **options)
            yield speaker
            await speaker.aclose()

    return made


_cartesia = _plugin(cartesia.TTS, "")
_deepgram = _plugin(deepgram.TTS, "/v1/speak")
_turns = _plugin(deepgram.TTSv2, "/v2/speak")
_elevenlabs = _plugin(elevenlabs.TTS, "/v1", encoding="pcm_24000")
_fishaudio = _plugin(fishaudio.TTS, "")


def _openai(**options: object) -> openai.TTS:
    return openai.TTS(api_key=KEY, base_url=f"{URL}/v1", **options)


async def _said(stream: tts.SynthesizeStream | tts.ChunkedStream) -> tuple[float, list[str]]:
    """Seconds of audio, and the words that came with times."""
    seconds, words = 0.0, []
    async for event in stream:
        seconds += event.frame.duration
        words += event.frame.userdata.get("lk.timed_transcripts", [])
    return seconds, words


async def _stream(speaker: tts.TTS, text: str = TEXT) -> tuple[float, list[str]]:
    async with speaker.stream() as stream:
        for word in text.split():
            stream.push_text(f"{word} ")
        stream.end_input()
        return await _said(stream)


async def _leave(speaker: tts.TTS) -> None:
    """In the middle of a text, as when somebody interrupts the agent."""
    async with speaker.stream() as stream:
        stream.push_text(TEXT * 5)
        stream.flush()
        async for _ in stream:
            break


async def _streams(plugin: Plugin, *, timed: bool = False, **options: object) -> None:
    """Two on one socket, the second after somebody has interrupted."""
    async with plugin(**options) as speaker:
        for _ in range(2):
            seconds, words = await _stream(speaker)
            assert seconds > 2, seconds
            assert not timed or "".join(words).split() == TEXT.split(), words
        await _leave(speaker)
        seconds, _ = await _stream(speaker)
        assert seconds > 2, seconds


async def _speaks_two_at_once(plugin: Plugin) -> None:
    async with plugin() as speaker:
        said = await asyncio.gather(_stream(speaker), _stream(speaker, OTHER))
    assert said[0][0] > said[1][0] > 0.5


async def _is_silent_without_words(plugin: Plugin) -> None:
    async with plugin() as speaker:
        for text in ("...", "🎉"):
            seconds, _ = await _stream(speaker, text)
            assert 0 < seconds < 1, (text, seconds)


async def _chunked(plugin: Plugin, **options: object) -> None:
    async with plugin(**options) as speaker:
        seconds, _ = await _said(speaker.synthesize(TEXT))
    assert seconds > 1.6, (options, seconds)


async def case_elevenlabs_streams() -> None:
    await _streams(_elevenlabs, timed=True)


async def case_elevenlabs_stream_of_mp3_by_sentence() -> None:
    sentences = tokenize.blingfire.SentenceTokenizer()
    await _streams(_elevenlabs, encoding="mp3_22050_32", auto_mode=True, word_tokenizer=sentences)


async def case_elevenlabs_two_at_once() -> None:
    await _speaks_two_at_once(_elevenlabs)


async def case_elevenlabs_chunked() -> None:
    await _chunked(_elevenlabs, encoding="mp3_22050_32")


async def case_elevenlabs_text_without_words() -> None:
    await _is_silent_without_words(_elevenlabs)


async def case_elevenlabs_dialogue() -> None:
    """How the plugin asks newer models."""
    for encoding in ("pcm_24000", "mp3_44100_128"):
        async with _elevenlabs(model="eleven_v4", encoding=encoding) as speaker:
            await _leave(speaker)
            for _ in range(2):  # on the same socket
                seconds, words = await _stream(speaker)
                assert seconds > 2 and "".join(words).split() == TEXT.split(), (seconds, words)
                starts = [word.start_time for word in words]
                assert starts == sorted(starts) and starts[0] < 0.5, starts
                assert seconds - 2 < starts[-1] < seconds, (starts, seconds)
            seconds, _ = await _stream(speaker, "...")
            assert 0 < seconds < 1, seconds
            seconds, _ = await _said(speaker.synthesize(TEXT))
            assert seconds > 2, seconds


async def case_elevenlabs_voices() -> None:
    async with _elevenlabs() as speaker:
        assert "default" in [voice.id for voice in await speaker.list_voices()]


async def case_elevenlabs_wrong_key() -> None:
    async with _elevenlabs(api_key="of nobody at all") as speaker:
        try:
            await _stream(speaker)
        except (APIStatusError, APIConnectionError) as error:
            assert getattr(error, "status_code", 401) == 401, error
        else:
            raise AssertionError("a wrong key was taken")


async def case_openai_every_format() -> None:
    for format in ("mp3", "opus", "aac", "flac", "wav", "pcm"):
        async with _openai(response_format=format, model="tts-1").synthesize(TEXT) as stream:
            seconds, _ = await _said(stream)
        assert seconds > 2, format


async def case_openai_speed_and_instructions() -> None:
    fast = _openai(speed=2.0, response_format="pcm", voice="nova", instructions="Whisper.")
    async with fast.synthesize(TEXT) as stream:
        seconds, _ = await _said(stream)
    async with _openai(response_format="pcm").synthesize(TEXT) as stream:
        slow_seconds, _ = await _said(stream)
    assert 1.6 < slow_seconds / seconds < 2.4


async def case_openai_text_without_words() -> None:
    for text in ("...", "🎉"):
        async with _openai(response_format="pcm").synthesize(text) as stream:
            await _said(stream)


async def case_deepgram_streams() -> None:
    await _streams(_deepgram)


async def case_deepgram_chunked() -> None:
    await _chunked(_deepgram)


async def case_deepgram_text_without_words() -> None:
    await _is_silent_without_words(_deepgram)


async def case_deepgram_turns() -> None:
    async with _turns(speed=1.1) as speaker:
        for text in (TEXT, "...", TEXT):  # on the same socket
            seconds, _ = await _stream(speaker, text)
            assert seconds > 2 or (text == "..." and 0 < seconds < 1), seconds


async def case_deepgram_turn_chunked() -> None:
    for options in ({}, {"encoding": "mp3", "bit_rate": 48000}):
        await _chunked(_turns, **options)


async def case_cartesia_streams() -> None:
    await _streams(_cartesia, timed=True)


async def case_cartesia_two_at_once() -> None:
    await _speaks_two_at_once(_cartesia)


async def case_cartesia_chunked() -> None:
    await _chunked(_cartesia, speed=1.2, volume=1.0, emotion="happy")


async def case_cartesia_text_without_words() -> None:
    await _is_silent_without_words(_cartesia)


async def case_fishaudio_streams() -> None:
    for format in ("wav", "mp3", "pcm"):
        await _streams(_fishaudio, output_format=format)


async def case_fishaudio_two_at_once() -> None:
    await _speaks_two_at_once(_fishaudio)


async def case_fishaudio_chunked() -> None:
    for format in ("wav", "opus"):
        await _chunked(_fishaudio, output_format=format, speed=1.1)


async def case_fishaudio_text_without_words() -> None:
    await _is_silent_without_words(_fishaudio)


main(__name__)
