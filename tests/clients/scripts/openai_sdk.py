"""OpenAI's Python SDK, and the same as Azure's."""

from __future__ import annotations

import base64
import io
import json
import os
import wave
from pathlib import Path

import openai
from cases import main
from openai import AsyncOpenAI, AzureOpenAI, OpenAI

URL, KEY = os.environ["URL"], os.environ["KEY"]
TEXT = "The doors open at nine. Please bring your ticket."
client = OpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0)
SEED = {"seed": 7}


def _pcm(**options: object) -> bytes:
    options = {"model": "gpt-4o-mini-tts", "voice": "alloy", "input": TEXT, "extra_body": SEED, **options}
    return client.audio.speech.create(response_format="pcm", **options).content


def case_every_format_and_voice() -> None:
    for format in ("mp3", "opus", "aac", "flac", "wav", "pcm"):
        answer = client.audio.speech.create(model="tts-1", voice="nova", input=TEXT, response_format=format)
        assert len(answer.content) > 5000, format


def case_streaming_response() -> None:
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input=TEXT * 4, response_format="wav"
    ) as answer:
        pieces = list(answer.iter_bytes(4096))
    with wave.open(io.BytesIO(b"".join(pieces))) as file:
        assert (file.getframerate(), len(pieces) > 5) == (24000, True)


def case_events() -> None:
    audio = b""
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input=TEXT, response_format="pcm", stream_format="sse", extra_body=SEED
    ) as answer:
        events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    for event in events[:-1]:
        audio += base64.b64decode(event["audio"])
    assert events[-1]["type"] == "speech.audio.done" and audio == _pcm()


def case_speed() -> None:
    usual = len(_pcm())
    for speed in (0.25, 0.8, 1.2, 4.0):
        assert abs(usual / len(_pcm(speed=speed)) / speed - 1) < 0.05, speed


def case_unknown_fields_are_named() -> None:
    answer = client.audio.speech.with_raw_response.create(
        model="tts-1", voice="alloy", input=TEXT, extra_body={"user": "me", "language": "English"}
    )
    assert answer.headers["x-ignored-fields"] == "user"


def case_text_without_words() -> None:
    for text in ("...", "🎉"):
        assert len(_pcm(input=text)) > 0


async def case_async_client() -> None:
    other = AsyncOpenAI(api_key=KEY, base_url=f"{URL}/v1")
    async with other.audio.speech.with_streaming_response.create(
        model="tts-1", voice={"id": "default"}, input=TEXT
    ) as answer:
        assert len(b"".join([piece async for piece in answer.iter_bytes()])) > 5000


def case_azure() -> None:
    for version in ({"api_version": "2025-03-01-preview"},):
        other = AzureOpenAI(api_key=KEY, azure_endpoint=URL, **version)
        answer = other.audio.speech.create(model="my-deployment", voice="alloy", input=TEXT)
        assert len(answer.content) > 5000
    other = OpenAI(api_key=KEY, base_url=f"{URL}/openai/v1/")
    assert other.audio.speech.create(model="my-deployment", voice="alloy", input=TEXT).content


def case_models() -> None:
    for model in client.models.list().data:
        assert client.models.retrieve(model.id).id == model.id
    assert client.models.retrieve("tts-1").id == "tts-1"
    try:
        client.models.retrieve("nothing")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found"
    else:
        raise AssertionError("a model that is none was found")


def case_voices_of_one_s_own() -> None:
    sample = Path(os.environ["SAMPLE"]).read_bytes()
    voices, consents = client.audio.voices, client.audio.voice_consents
    consent = consents.create(name="Ann Example", language="en-US", recording=("me.wav", sample, "audio/wav"))
    assert consents.retrieve(consent.id).name == "Ann Example"
    assert consents.update(consent.id, name="Ann").name == "Ann"
    assert [row.id for row in consents.list(limit=1)] == [consent.id]
    made = voices.create(name="Nova", consent=consent.id, audio_sample=("me.wav", sample, "audio/wav"))
    try:
        own, by_name, alloy = (_pcm(voice=voice) for voice in ({"id": made.id}, "nova", "alloy"))
        assert own == by_name != alloy
    finally:
        assert voices.delete(made.id).deleted
        assert consents.delete(consent.id).deleted


def case_errors() -> None:
    for wrong, kind in (
        ({"speed": 9.0}, openai.UnprocessableEntityError),
        ({"voice": "nobody"}, openai.NotFoundError),
        ({"input": " "}, openai.UnprocessableEntityError),
    ):
        try:
            _pcm(**wrong)
        except kind as error:
            assert error.body["message"] and error.code
        else:
            raise AssertionError(f"{wrong} was taken")
    try:
        OpenAI(api_key="of nobody at all", base_url=f"{URL}/v1").audio.speech.create(
            model="tts-1", voice="alloy", input=TEXT
        )
    except openai.AuthenticationError as error:
        assert error.code == "invalid_api_key"
    else:
        raise AssertionError("a wrong key was taken")


main(__name__)
