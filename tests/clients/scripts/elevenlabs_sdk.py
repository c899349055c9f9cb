"""ElevenLabs' Python SDK, as its documentation uses it."""

from __future__ import annotations

import base64
import os
import wave
from collections.abc import Iterator
from io import BytesIO

from cases import main
from elevenlabs import VoiceSettings
from elevenlabs.client import AsyncElevenLabs, ElevenLabs
from elevenlabs.core.api_error import ApiError

URL, SECURE_URL, KEY = os.environ["URL"], os.environ["SECURE_URL"], os.environ["KEY"]
RACHEL = "21m00Tcm4TlvDq8ikWAM"
TEXT = "The doors open at nine. Please bring your ticket."
client = ElevenLabs(api_key=KEY, base_url=URL)


def seconds_of_pcm(data: bytes, rate: int = 24000) -> float:
    return len(data) / 2 / rate


def case_convert() -> None:
    audio = b"".join(client.text_to_speech.convert(RACHEL, text=TEXT, model_id="eleven_multilingual_v2"))
    assert audio[:3] == b"ID3" and len(audio) > 10_000


def case_every_kind_of_format() -> None:
    for name in ("mp3_22050_32", "opus_48000_64", "pcm_16000", "wav_24000", "ulaw_8000", "alaw_8000"):
        audio = b"".join(client.text_to_speech.convert("default", text=TEXT, output_format=name))
        assert len(audio) > 1000, name


def case_stream_with_settings() -> None:
    settings = VoiceSettings(
        stability=0.5, similarity_boost=0.75, style=0.0, use_speaker_boost=True, speed=1.2
    )
    pieces = client.text_to_speech.stream(
        "default", text=TEXT, output_format="pcm_24000", voice_settings=settings, seed=7,
        optimize_streaming_latency=3, previous_text="Before.", apply_text_normalization="on",
    )  # fmt: skip
    fast = seconds_of_pcm(b"".join(pieces))
    slow = seconds_of_pcm(
        b"".join(client.text_to_speech.stream("default", text=TEXT, output_format="pcm_24000", seed=7))
    )
    assert abs(slow / fast - 1.2) < 0.1, (slow, fast)


def case_convert_with_timestamps() -> None:
    answer = client.text_to_speech.convert_with_timestamps("default", text=TEXT, output_format="pcm_24000")
    _check_times(answer.alignment, seconds_of_pcm(base64.b64decode(answer.audio_base_64)))


def case_stream_with_timestamps() -> None:
    audio, characters, starts, ends = b"", [], [], []
    for piece in client.text_to_speech.stream_with_timestamps(
        "default", text=TEXT, output_format="pcm_24000"
    ):
        audio += base64.b64decode(piece.audio_base_64)
        if piece.alignment:
            characters += piece.alignment.characters
            starts += piece.alignment.character_start_times_seconds
            ends += piece.alignment.character_end_times_seconds
    _check(characters, starts, ends, seconds_of_pcm(audio))


def case_dialogue() -> None:
    lines = [{"text": TEXT[:24], "voice_id": "default"}, {"text": TEXT[24:], "voice_id": RACHEL}]
    options = {"inputs": lines, "model_id": "eleven_v4", "output_format": "pcm_24000", "seed": 7}
    dialogue = client.text_to_dialogue
    streamed = b"".join(dialogue.stream(**options))
    assert len(streamed) == len(b"".join(dialogue.convert(**options, settings={"stability": 0.5})))
    answer = dialogue.convert_with_timestamps(**options)
    assert [segment.voice_id for segment in answer.voice_segments] == ["default", RACHEL]
    _check_times(answer.alignment, seconds_of_pcm(base64.b64decode(answer.audio_base_64)))
    pieces = list(dialogue.stream_with_timestamps(**options))
    assert sum(len(base64.b64decode(piece.audio_base_64)) for piece in pieces) == len(streamed)
    assert [segment.dialogue_input_index for piece in pieces for segment in piece.voice_segments] == [0, 1]


def _check_times(alignment: object, seconds: float) -> None:
    _check(
        alignment.characters,
        alignment.character_start_times_seconds,
        alignment.character_end_times_seconds,
        seconds,
    )


def _check(characters: list[str], starts: list[float], ends: list[float], seconds: float) -> None:
    assert "".join(characters) == TEXT, characters
    assert starts == sorted(starts) and ends == sorted(ends)
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert ends[-1] <= seconds + 0.01 and ends[-1] > 0.6 * seconds, (ends[-1], seconds)


def _realtime(text: Iterator[str], **options: str) -> bytes:
    secure = ElevenLabs(api_key=KEY, base_url=SECURE_URL)
    return b"".join(secure.text_to_speech.convert_realtime(text=text, **options))


def case_convert_realtime() -> None:
    words = (f"{word} " for word in TEXT.split())
    audio = _realtime(words, voice_id=RACHEL, model_id="eleven_flash_v2_5", output_format="pcm_24000")
    assert seconds_of_pcm(audio) > 1.0


def case_convert_realtime_mp3() -> None:
    assert len(_realtime(iter([TEXT]), voice_id="default")) > 10_000


async def case_async_client() -> None:
    other = AsyncElevenLabs(api_key=KEY, base_url=URL)
    pieces = [piece async for piece in other.text_to_speech.stream("default", text=TEXT)]
    assert len(b"".join(pieces)) > 10_000


def case_wav_has_its_rate() -> None:
    audio = b"".join(client.text_to_speech.convert("default", text=TEXT, output_format="wav_16000"))
    with wave.open(BytesIO(audio)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)


def case_voices() -> None:
    everything = client.voices.get_all().voices
    assert "default" in {voice.voice_id for voice in everything}
    assert client.voices.get("default").name == "Default"
    found = client.voices.search(search="default", page_size=1, include_total_count=True)
    assert found.voices[0].voice_id == "default" and found.total_count >= 1


def case_models() -> None:
    (model,) = client.models.list()
    assert model.can_do_text_to_speech and model.languages[0].language_id


def _refused(status: int, key: str = KEY, voice: str = "default", **options: str) -> object:
    """The body of the error."""
    other = ElevenLabs(api_key=key, base_url=URL)
    try:
        b"".join(other.text_to_speech.convert(voice, text=TEXT, **options))
    except ApiError as error:
        assert error.status_code == status, error
        return error.body
    raise AssertionError("this was not refused")


def case_a_wrong_key_is_401() -> None:
    assert _refused(401, key="of nobody at all")["detail"]["status"] == "invalid_api_key"


def case_errors_have_their_shape() -> None:
    detail = _refused(404, voice="nobody")["detail"]
    assert detail["status"] == "unknown_voice" and "nobody" in detail["message"]
    (problem,) = _refused(422, output_format="mp3_1_1")["detail"]
    assert problem["loc"][-1] == "output_format" and problem["type"] == "invalid_value"


main(__name__)
