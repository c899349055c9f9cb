"""LiveKit's plugins for Cartesia, Deepgram, ElevenLabs and OpenAI, as an agent uses them."""

from __future__ import annotations

import asyncio
import os

import aiohttp
from cases import main
from livekit.agents import APIConnectionError, APIStatusError, tokenize, tts
from livekit.plugins import cartesia, deepgram, elevenlabs, openai

URL, KEY = os.environ["URL"], os.environ["KEY"]
TEXT = "The doors open at nine. Please bring your ticket. We look forward to seeing you."


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


def _elevenlabs(session: aiohttp.ClientSession, **options: object) -> elevenlabs.TTS:
    options = {"encoding": "pcm_24000", **options}
    return elevenlabs.TTS(api_key=KEY, base_url=f"{URL}/v1", http_session=session, **options)


async def case_elevenlabs_stream() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(session)
        seconds, words = await _stream(speaker)
        again, _ = await _stream(speaker)  # on the same socket
        await speaker.aclose()
    assert seconds > 2 and again > 2, (seconds, again)
    assert "".join(words).split() == TEXT.split(), words


async def case_elevenlabs_stream_of_mp3_by_sentence() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(
            session,
            encoding="mp3_22050_32",
            auto_mode=True,
            word_tokenizer=tokenize.blingfire.SentenceTokenizer(),
        )
        seconds, _ = await _stream(speaker)
        await speaker.aclose()
    assert seconds > 2


async def case_elevenlabs_two_at_once() -> None:

    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(session)
        said = await asyncio.gather(_stream(speaker), _stream(speaker, "Something else entirely."))
        await speaker.aclose()
    assert said[0][0] > said[1][0] > 0.5


async def case_elevenlabs_interrupted_then_again() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(session)
        async with speaker.stream() as stream:
            stream.push_text(TEXT * 5)
            stream.flush()
            async for _ in stream:
                break
        seconds, _ = await _stream(speaker)
        await speaker.aclose()
    assert seconds > 2


async def case_elevenlabs_chunked() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(session, encoding="mp3_22050_32")
        seconds, _ = await _said(speaker.synthesize(TEXT))
        await speaker.aclose()
    assert seconds > 2


async def case_elevenlabs_text_without_words() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _elevenlabs(session)
        for text in ("...", "🎉", "…"):
            seconds, _ = await _stream(speaker, text)
            assert 0 < seconds < 1
        await speaker.aclose()


async def case_elevenlabs_dialogue() -> None:
    """How the plugin asks newer models."""
    async with aiohttp.ClientSession() as session:
        for encoding in ("pcm_24000", "mp3_44100_128"):
            speaker = _elevenlabs(session, model="eleven_v4", encoding=encoding)
            async with speaker.stream() as stream:  # left in the middle
                stream.push_text(TEXT * 5)
                stream.flush()
                async for _ in stream:
                    break
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
            await speaker.aclose()


async def case_elevenlabs_voices() -> None:
    async with aiohttp.ClientSession() as session:
        voices = await _elevenlabs(session).list_voices()
    assert "default" in [voice.id for voice in voices]


async def case_elevenlabs_wrong_key() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = elevenlabs.TTS(api_key="of nobody at all", base_url=f"{URL}/v1", http_session=session)
        try:
            await _stream(speaker)
        except (APIStatusError, APIConnectionError) as error:
            assert getattr(error, "status_code", 401) == 401, error
        else:
            raise AssertionError("a wrong key was taken")


def _openai(**options: object) -> openai.TTS:
    return openai.TTS(api_key=KEY, base_url=f"{URL}/v1", **options)


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


def _deepgram(session: aiohttp.ClientSession, **options: object) -> deepgram.TTS:
    return deepgram.TTS(api_key=KEY, base_url=f"{URL}/v1/speak", http_session=session, **options)


async def case_deepgram_stream() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _deepgram(session)
        for _ in range(2):  # on the same socket
            seconds, _ = await _stream(speaker)
            assert seconds > 2, seconds
        await speaker.aclose()


async def case_deepgram_interrupted_then_again() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _deepgram(session)
        async with speaker.stream() as stream:
            stream.push_text(TEXT * 5)
            stream.flush()
            async for _ in stream:
                break
        seconds, _ = await _stream(speaker)
        await speaker.aclose()
    assert seconds > 2


async def case_deepgram_chunked() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _deepgram(session)
        seconds, _ = await _said(speaker.synthesize(TEXT))
        await speaker.aclose()
    assert seconds > 2


async def case_deepgram_text_without_words() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _deepgram(session)
        for text in ("...", "🎉"):
            seconds, _ = await _stream(speaker, text)
            assert 0 < seconds < 1
        await speaker.aclose()


def _turns(session: aiohttp.ClientSession, **options: object) -> deepgram.TTSv2:
    return deepgram.TTSv2(api_key=KEY, base_url=f"{URL}/v2/speak", http_session=session, **options)


async def case_deepgram_turns() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _turns(session, speed=1.1)
        for text in (TEXT, "...", TEXT):  # on the same socket
            seconds, _ = await _stream(speaker, text)
            assert seconds > 2 or (text == "..." and 0 < seconds < 1), seconds
        await speaker.aclose()


async def case_deepgram_turn_chunked() -> None:
    async with aiohttp.ClientSession() as session:
        for options in ({}, {"encoding": "mp3", "bit_rate": 48000}):
            speaker = _turns(session, **options)
            seconds, _ = await _said(speaker.synthesize(TEXT))
            assert seconds > 2, (options, seconds)
            await speaker.aclose()


def _cartesia(session: aiohttp.ClientSession, **options: object) -> cartesia.TTS:
    return cartesia.TTS(api_key=KEY, base_url=URL, http_session=session, **options)


async def case_cartesia_stream() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _cartesia(session)
        for _ in range(2):  # on the same socket
            seconds, words = await _stream(speaker)
            assert seconds > 2, seconds
            assert "".join(words).split() == TEXT.split(), words
        await speaker.aclose()


async def case_cartesia_two_at_once_and_interrupted() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _cartesia(session)
        async with speaker.stream() as stream:
            stream.push_text(TEXT * 5)
            stream.flush()
            async for _ in stream:
                break
        said = await asyncio.gather(_stream(speaker), _stream(speaker, "Something else entirely."))
        await speaker.aclose()
    assert said[0][0] > said[1][0] > 0.5


async def case_cartesia_chunked() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _cartesia(session, speed=1.2, volume=1.0, emotion="happy")
        seconds, _ = await _said(speaker.synthesize(TEXT))
        await speaker.aclose()
    assert seconds > 1.6


async def case_cartesia_text_without_words() -> None:
    async with aiohttp.ClientSession() as session:
        speaker = _cartesia(session)
        for text in ("...", "🎉"):
            seconds, _ = await _stream(speaker, text)
            assert 0 < seconds < 1
        await speaker.aclose()


main(__name__)
