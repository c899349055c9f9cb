"""Recordings that are judged, freed of noise and tried before there is a voice."""

from __future__ import annotations

from pathlib import Path

import httpx
import numpy as np
import pytest

from gateway.errors import ApiError
from gateway.voices.recordings import noise
from gateway.voices.recordings.decoding import Recording
from tests.gateway.audio.files import RATE, noisy_speech, speech, wav
from tests.gateway.stages.processes import check_error
from tests.gateway.voices.uploads import AUDIO, CONSENT, create, names, upload


def send(http: httpx.Client, path: str, audio: bytes = AUDIO, **fields: str) -> httpx.Response:
    return http.post(path, files={"audio": ("a.webm", audio)}, data=fields)


def kept_audio(data_dir: Path) -> set[Path]:
    """Files of recordings; latents of voices that were deleted a moment ago may still be on their way."""
    return {path for path in (data_dir / "voices").rglob("*") if path.is_file() and path.suffix != ".latents"}


def test_noise_is_taken_out_of_a_recording_where_that_is_wanted(ann: httpx.Client) -> None:
    recording = wav(noisy_speech())
    assert ann.get("/api/config").json()["denoises"]
    heard = {}
    for denoise in ("false", "true"):
        judged = send(ann, "/api/voices/checks", recording, denoise=denoise).json()
        voice = create(ann, denoise, recording, denoise=denoise, **CONSENT)
        assert judged["checks"] == voice["checks"]
        kept = ann.get(f"/api/voices/{voice['id']}/preview").content
        advised = [check["message"] for check in judged["checks"] if check["code"] == "noise"]
        assert all("denoise=true" in message for message in advised)
        heard[denoise] = ("noise" in {check["code"] for check in voice["checks"]}, len(kept), kept)
        assert send(ann, "/api/voices/trial", recording, denoise=denoise, **CONSENT).status_code == 200
    (heard_noise, size, kept), (heard_none, clean_size, clean) = heard["false"], heard["true"]
    assert heard_noise and not heard_none and clean != kept and clean_size <= size
    error = check_error(upload(ann, "x", recording, denoise="perhaps"), 422)
    assert error["param"] == "denoise"


async def test_where_nothing_takes_noise_out_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "is_available", lambda: False)
    with pytest.raises(ApiError) as refused:
        await noise.without_noise(Recording(np.zeros(8000, np.int16), 8000))
    problem = refused.value
    assert (problem.status_code, problem.code, problem.param) == (422, "denoise_unsupported", "denoise")
    assert not noise.can_be_taken_out(done=False)


def test_what_is_left_of_noise_is_not_said_to_go_once_more() -> None:
    assert noise.can_be_taken_out(done=False) and not noise.can_be_taken_out(done=True)


def test_a_recording_is_judged_without_a_voice(ann: httpx.Client, data_dir: Path) -> None:
    before = kept_audio(data_dir)
    heard = send(ann, "/api/voices/checks").json()
    assert heard["usable"] and heard["audio_seconds"] == pytest.approx(6.0, abs=0.2)
    assert 3 < heard["sound_seconds"] < 6 and -40 < heard["loudness_lufs"] < -5
    silent = send(ann, "/api/voices/checks", wav(np.zeros(5 * RATE)))
    assert silent.status_code == 200 and not silent.json()["usable"]
    paused = np.concatenate([speech(3.0), np.zeros(2 * RATE), speech(3.0)])
    checks = send(ann, "/api/voices/checks", wav(paused)).json()["checks"]
    (pause,) = [check for check in checks if check["code"] == "long_pause"]
    assert pause["severity"] == "warning"
    assert pause["regions"][0]["end_seconds"] == pytest.approx(5.0, abs=0.1)
    assert check_error(send(ann, "/api/voices/checks", b"no audio" * 99), 422)["code"] == "audio_format"
    assert names(ann) == ["Default"] and kept_audio(data_dir) == before


def test_a_voice_is_tried_before_there_is_one(ann: httpx.Client, data_dir: Path) -> None:
    before = kept_audio(data_dir)
    heard = send(ann, "/api/voices/trial", transcript="Some words.", **CONSENT)
    assert heard.status_code == 200, heard.text
    assert heard.content[:4] == b"RIFF" and heard.headers["x-audio-provenance"]
    again = send(ann, "/api/voices/trial", transcript="Some words.", **CONSENT)
    assert again.content == heard.content
    assert send(ann, "/api/voices/trial", wav(speech(6.0, pitch=90.0)), **CONSENT).content != heard.content
    assert check_error(send(ann, "/api/voices/trial"), 403)["code"] == "voice_without_consent"
    assert (
        check_error(send(ann, "/api/voices/trial", wav(np.zeros(5 * RATE)), **CONSENT), 422)["code"]
        == "audio_silent"
    )
    assert (
        check_error(send(ann, "/api/voices/trial", sentence_language="English!", **CONSENT), 422)["code"]
        == "invalid_value"
    )
    assert names(ann) == ["Default"] and kept_audio(data_dir) == before
