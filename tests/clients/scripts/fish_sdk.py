"""Fish Audio's Python SDK, as its documentation uses it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

from cases import main
from fishaudio import AsyncFishAudio, FishAudio
from fishaudio.exceptions import APIError, AuthenticationError
from fishaudio.types import ReferenceAudio, TTSConfig

URL, KEY = os.environ["URL"], os.environ["KEY"]
TEXT = "The doors open at nine. Please bring your ticket."
BEGINNINGS = {"mp3": (b"ID3", b"\xff"), "wav": b"RIFF", "opus": b"OggS"}
client = FishAudio(api_key=KEY, base_url=URL)


def case_convert_to_every_format() -> None:
    for format in ("mp3", "wav", "pcm", "opus"):
        audio = client.tts.convert(text=TEXT, format=format)
        assert len(audio) > 5000 and audio.startswith(BEGINNINGS.get(format, b"")), format


def case_stream() -> None:
    assert len(client.tts.stream(text=TEXT, reference_id="default", latency="balanced").collect()) > 5000


def case_speed() -> None:
    usual, fast = (len(client.tts.convert(text=TEXT, format="pcm", speed=speed)) for speed in (1.0, 1.5))
    assert 1.3 < usual / fast < 1.7, (usual, fast)


def case_stream_websocket() -> None:
    for format in ("mp3", "wav"):
        words = (f"{word} " for word in TEXT.split())
        audio = b"".join(client.tts.stream_websocket(words, config=TTSConfig(format=format)))
        assert len(audio) > 5000 and audio.startswith(BEGINNINGS[format]), format


def case_errors() -> None:
    wrong = {"reference_id": "nobody"}, {"references": [ReferenceAudio(audio=b"RIFF", text="Hello.")]}
    for options, status in zip(wrong, (404, 422), strict=True):
        try:
            client.tts.convert(text=TEXT, **options)
        except APIError as error:
            assert error.status == status and error.message, error
        else:
            raise AssertionError(options)
    try:
        FishAudio(api_key="of nobody at all", base_url=URL).tts.convert(text=TEXT)
    except AuthenticationError as error:
        assert error.status == 401, error
    else:
        raise AssertionError("a wrong key was taken")


async def case_async() -> None:
    async def words() -> AsyncIterator[str]:
        for word in TEXT.split():
            yield f"{word} "

    async with AsyncFishAudio(api_key=KEY, base_url=URL) as speaker:
        assert len(await speaker.tts.convert(text=TEXT)) > 5000
        heard = [chunk async for chunk in speaker.tts.stream_websocket(words())]
    assert sum(map(len, heard)) > 5000


main(__name__)
