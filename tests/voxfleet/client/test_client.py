"""The Python client against a real service with API keys: every call, both forms."""

from __future__ import annotations

import io
import json
import math
import os
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gateway.stages.processes import LONG_TEXT, TEXT, GatewayProcess, pcm_of
from tests.voxfleet.client.alice import KEY
from tests.worker.process import wait_until
from voxfleet.client import AsyncClient, Client, InvalidRequestError, SpeechError


def recording(seconds: float = 6.0, sample_rate: int = 16000) -> bytes:
    """A wav file of something that is loud enough, and no silence."""
    times = np.arange(int(seconds * sample_rate)) / sample_rate
    wobble = 0.3 * np.sin(2 * np.pi * 180 * times) * (1 + 0.5 * np.sin(2 * np.pi * 3 * times))
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((wobble * 20000).astype("<i2").tobytes())
    return buffer.getvalue()


def test_a_whole_clip(client: Client) -> None:
    speech = client.speak(TEXT, seed=7, format="pcm")
    assert speech.audio == pcm_of(TEXT, 7)
    assert (speech.seed, speech.finish_reason, speech.sample_rate) == (7, "stop", 24000)
    assert speech.audio_seconds == pytest.approx(len(speech.audio) / 2 / 24000)
    assert speech.session_id is None and speech.request_id


def test_a_stream_without_asyncio(client: Client) -> None:
    items = list(client.stream(TEXT, seed=7))
    assert b"".join(item for item in items if isinstance(item, bytes)) == pcm_of(TEXT, 7)
    assert items[-1]["type"] == "done"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (TEXT, {"speed": 2}),
        (TEXT, {"sample_rate": 12000}),
        (f'<speak><prosody rate="200%">{TEXT}</prosody></speak>', {"input_type": "ssml"}),
    ],
)
def test_a_stream_at_another_rate_or_speed(client: Client, text: str, options: dict[str, Any]) -> None:
    """Such a clip cannot be resumed, and is not asked for so."""
    items = client.stream(text, seed=7, **options)
    samples = sum(len(item) for item in items if isinstance(item, bytes)) / 2
    assert samples == pytest.approx(len(pcm_of(TEXT, 7)) / 4, rel=0.1)


def test_a_whole_clip_with_the_times_of_its_words(client: Client) -> None:
    speech = client.speak(TEXT, seed=7, format="pcm", timestamps="word")
    assert speech.audio == pcm_of(TEXT, 7)
    assert speech.timestamps is not None
    assert [word["text"] for word in speech.timestamps["words"]] == TEXT.split()
    assert client.speak(TEXT).timestamps is None


def test_a_stream_that_is_left_early_ends_on_the_server(client: Client) -> None:
    for _ in range(4):  # with two requests at once allowed, the third would be refused if any stayed
        for item in client.stream(LONG_TEXT, resume=False):
            if isinstance(item, bytes):
                break
    assert client.speak(TEXT).finish_reason == "stop"


def test_a_client_that_is_closed_leaves_no_stream_on_the_server(gateway: GatewayProcess) -> None:
    """With two requests at once allowed, the third would be refused if any stayed."""
    left = []
    for _ in range(4):
        with Client(gateway.url, api_key=KEY) as client:
            left.append(client.stream(LONG_TEXT, resume=False))
            while not isinstance(next(left[-1]), bytes):
                pass
            client.close()


async def test_a_stream_with_the_key_as_browsers_send_it(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY, key_in_subprotocol=True) as client:
        pcm = [item async for item in client.stream(TEXT, seed=3) if isinstance(item, bytes)]
    assert b"".join(pcm) == pcm_of(TEXT, 3)


def test_tags_may_be_one_text_and_a_recording_may_be_in_any_buffer(client: Client) -> None:
    for kind in (bytes, bytearray, memoryview):
        voice = client.create_voice("Me", kind(recording()), tags="calm, low")
        client.delete_voice(voice["id"])
        assert voice["tags"] == ["calm", "low"]


def test_voices_are_made_used_and_deleted(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "me.wav"
    file.write_bytes(recording())
    statement = client.consent_statement()
    voice = client.create_voice(
        "Me", file, tags=["calm", "low"], language="en", parameters={"cfg_value": 2.5},
        consent_by="Alice", consent_statement=statement,
    )  # fmt: skip
    assert voice["usable"] and voice["tags"] == ["calm", "low"] and isinstance(voice["checks"], list)
    assert voice["id"] in {known["id"] for known in client.voices()}
    assert client.preview_voice(voice["id"]).startswith(b"RIFF")
    assert client.change_voice(voice["id"], description="after lunch")["description"] == "after lunch"
    assert client.speak(TEXT, voice=voice["id"]).finish_reason == "stop"
    client.delete_voice(voice["id"])
    with pytest.raises(InvalidRequestError):
        client.preview_voice(voice["id"])
    with pytest.raises(InvalidRequestError):
        client.delete_voice("../sessions")


def test_a_recording_is_judged_and_heard_before_it_is_a_voice(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "me.wav"
    file.write_bytes(recording())
    before = client.voices()
    heard = client.check_recording(file)
    assert client.check_recording(str(file)) == client.check_recording(file.read_bytes()) == heard
    assert heard["usable"] and heard["audio_seconds"] >= heard["sound_seconds"] > 0
    with pytest.raises(SpeechError) as without_consent:
        client.try_voice(file)
    assert without_consent.value.status_code == 403
    spoken = client.try_voice(file, consent_by="Alice", consent_statement=client.consent_statement())
    assert spoken.startswith(b"RIFF")
    assert client.voices() == before


@pytest.mark.parametrize(
    ("call", "param"),
    [
        (lambda client: client.speak("a \udcff"), "text"),
        (lambda client: client.speak("a", speed=math.nan), "speed"),
        (lambda client: list(client.stream_chat("a \udcff")), "messages.0.content"),
        (lambda client: client.start_job("a", title="\udcff"), "title"),
        (lambda client: client.sessions(search="\udcff"), "search"),
        (lambda client: client.create_voice("\udcff", b"no audio"), "name"),
        (lambda client: client.change_voice("v_1", name="\udcff"), "name"),
        (lambda client: client.session("\udcff"), "id"),
    ],
)
def test_what_is_no_unicode_or_no_number_is_said_of_its_field(
    client: Client, call: Callable[[Client], object], param: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        call(client)
    assert refused.value.param == param


def test_a_recording_whose_name_is_in_another_encoding_is_sent(client: Client, tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.wav"))
    file.write_bytes(recording())
    assert client.check_recording(file)["usable"]


def test_recordings_are_listed_read_and_deleted(client: Client) -> None:
    speech = client.speak(TEXT, seed=5, record=True)
    listed = client.sessions(limit=5)["sessions"]
    assert speech.session_id in {session["id"] for session in listed}
    assert client.session(speech.session_id)["timeline"]
    with wave.open(io.BytesIO(client.session_audio(speech.session_id))) as file:
        assert file.readframes(file.getnframes()) == pcm_of(TEXT, 5)
    assert client.session_audio(speech.session_id, 0).startswith(b"RIFF")
    names = zipfile.ZipFile(io.BytesIO(client.download_session(speech.session_id))).namelist()
    assert any(name.endswith(".wav") for name in names)
    client.delete_session(speech.session_id)
    with pytest.raises(InvalidRequestError):
        client.session(speech.session_id)


def test_jobs_are_started_followed_fetched_and_deleted(client: Client, tmp_path: Path) -> None:
    job = client.start_job(TEXT, seed=9, title="A fox", chapters="none", timestamps="word")
    assert [each["id"] for each in client.jobs()["jobs"]] == [job["id"]]

    def complete() -> bool | None:
        return True if client.job(job["id"])["state"] == "complete" else None

    wait_until(complete, lambda: f"the job is {client.job(job['id'])}")
    for path in (tmp_path / "fox.pcm", str(tmp_path / "named.pcm")):
        client.save_job(job["id"], path, format="pcm")
        assert Path(path).read_bytes() == pcm_of(TEXT, 9)
    assert json.loads(client.job_words(job["id"]))["text"] == TEXT
    assert client.job_words(job["id"], "srt").startswith(b"1\n00:00:0")
    for refused in (client.cancel_job, client.resume_job):
        with pytest.raises(InvalidRequestError, match="only one that"):
            refused(job["id"])
    client.delete_job(job["id"])
    with pytest.raises(InvalidRequestError, match="no such job"):
        client.save_job(job["id"], tmp_path / "again")
    assert not (tmp_path / "again").exists()
