"""Cartesia's Python SDK, as its documentation uses it."""

from __future__ import annotations

import asyncio
import os

import cartesia
from cartesia import AsyncCartesia, Cartesia
from cases import main

URL, KEY = os.environ["URL"], os.environ["KEY"]
SOCKETS = URL.replace("http", "ws", 1)
TEXT = "The doors open at nine. Please bring your ticket."
RAW = {"container": "raw", "encoding": "pcm_f32le", "sample_rate": 44100}
THEIR_VOICE = "6ccbfb76-1fc6-48f7-b71d-91ac6298247b"
ORDER = {"model_id": "sonic-3", "voice": {"mode": "id", "id": THEIR_VOICE}, "output_format": RAW}
client = Cartesia(api_key=KEY, base_url=URL, websocket_base_url=SOCKETS, max_retries=0)


def case_status() -> None:
    assert client.get_status().ok


def case_bytes() -> None:
    for output in (
        RAW,
        {"container": "wav", "encoding": "pcm_s16le", "sample_rate": 24000},
        {"container": "mp3", "bit_rate": 128000, "sample_rate": 44100},
        {"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8000},
    ):
        answer = client.tts.generate(transcript=TEXT, **{**ORDER, "output_format": output}, language="en")
        assert len(answer.read()) > 10_000, output


def case_events_with_words() -> None:
    events = list(client.tts.generate_sse(transcript=TEXT, **ORDER, add_timestamps=True))
    assert events[-1].type == "done"
    words = [word for event in events if event.type == "timestamps" for word in event.word_timestamps.words]
    audio = b"".join(event.audio for event in events if event.type == "chunk")
    assert words == TEXT.split() and len(audio) > 4 * 44100, (words, len(audio))


def case_voices() -> None:
    voices = list(client.voices.list(limit=1))  # asks page by page, until there are no more
    assert voices[0].id == "default"
    assert client.voices.get("default").name


def case_errors() -> None:
    stranger = Cartesia(api_key="a wrong key that is long", base_url=URL, max_retries=0)
    for work, kind in (
        (
            lambda: client.tts.generate(transcript=TEXT, **{**ORDER, "voice": "nobody"}),
            cartesia.NotFoundError,
        ),
        (lambda: client.tts.generate(transcript="", **ORDER), cartesia.UnprocessableEntityError),
        (lambda: stranger.tts.generate(transcript=TEXT, **ORDER), cartesia.AuthenticationError),
    ):
        try:
            work()
        except kind as error:
            assert error.body["error_code"], error
        else:
            raise AssertionError(kind)


def case_context() -> None:
    heard = b""
    with client.tts.websocket_connect() as connection:
        context = connection.context(**ORDER, add_timestamps=True)
        for word in TEXT.split():
            context.push(f"{word} ")
        context.no_more_inputs()
        words = []
        for event in context.receive():
            if event.type == "chunk":
                heard += event.audio
            elif event.type == "timestamps":
                words += event.word_timestamps.words
        assert event.type == "done" and words == TEXT.split(), (event, words)
    assert len(heard) > 4 * 44100


def case_flush_and_errors_in_a_context() -> None:
    with client.tts.websocket_connect() as connection:
        context = connection.context(**ORDER)
        context.push("No end here", flush=True)
        kinds = []
        for event in context.receive():
            kinds.append(event.type)
            if event.type == "flush_done":
                assert event.flush_id == 1
                context.no_more_inputs()
        assert kinds[-2:] == ["flush_done", "done"], kinds
        refused = connection.context(**{**ORDER, "voice": "nobody"})
        refused.push("Hello.")
        (event,) = refused.receive()
        assert event.type == "error" and event.error_code == "unknown_voice", event


async def case_two_contexts_and_a_cancel() -> None:
    there = AsyncCartesia(api_key=KEY, base_url=URL, websocket_base_url=SOCKETS)
    async with there.tts.websocket_connect() as connection:
        first, second, gone = [connection.context(**ORDER) for _ in range(3)]
        await gone.push(TEXT * 20)
        for context in (first, second):
            await context.push(TEXT)
            await context.no_more_inputs()
        await gone.cancel()

        async def length(context: object) -> int:
            return sum([len(event.audio) async for event in context.receive() if event.type == "chunk"])

        lengths = await asyncio.gather(length(first), length(second))
    assert min(lengths) > 4 * 44100, lengths


def case_the_older_way() -> None:
    socket = client.tts.websocket()
    pieces = [piece.audio for piece in socket.send(transcript=TEXT, **ORDER) if piece.audio]
    assert sum(map(len, pieces)) > 4 * 44100
    socket.close()


main(__name__)
