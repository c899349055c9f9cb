"""Recordings are read whatever recorded them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from engine.errors import RequestError
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.vae.audio_encoding import AudioEncoder, read_audio
from tests.gateway.audio.files import encoded, speech


@pytest.mark.parametrize("kind", ["wav", "m4a", "webm"])
def test_a_recording_is_read_as_it_was_said(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"clip.{kind}").write_bytes(encoded(kind, speech(1.0)))
    samples, rate = read_audio(tmp_path / f"clip.{kind}")
    said = speech(1.0, rate)
    assert samples.dtype == np.float32 and 0 <= len(samples) - len(said) < 0.1 * rate
    heard = np.correlate(samples.astype(np.float64), said).max() / (said @ said)  # some codecs begin later
    assert 0.95 < heard < 1.05


@pytest.mark.parametrize("kind", ["wav", "m4a"])
def test_a_recording_is_read_whatever_encoding_its_name_has(kind: str, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + f"/caf\xe9.{kind}".encode("latin-1")))
    path.write_bytes(encoded(kind, speech(1.0)))
    assert len(read_audio(path)[0])


@pytest.mark.parametrize("kind", ["wav", "m4a", "webm"])
def test_what_is_no_audio_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"clip.{kind}").write_bytes(b"no audio at all")
    with pytest.raises(RequestError, match=f"clip.{kind} cannot be read as audio"):
        read_audio(tmp_path / f"clip.{kind}")
    with pytest.raises(
        RequestError, match=f"^gone.{kind} cannot be read as audio: No such file or directory$"
    ):
        read_audio(tmp_path / f"gone.{kind}")


def test_samples_that_are_whole_numbers_are_refused(checkpoint: Checkpoint) -> None:
    samples = (32767 * speech(0.1, 16_000)).astype(np.int16)
    with pytest.raises(RequestError, match="reference audio must be floats from -1 to 1, not int16"):
        AudioEncoder(checkpoint).encode(samples, 16_000, "reference")
    with pytest.raises(RequestError, match=r"prompt audio must be floats from -1 to 1, it goes to \d{4}"):
        AudioEncoder(checkpoint).encode(samples.astype(np.float32), 16_000, "prompt")


def test_a_prompt_that_no_request_has_room_for_is_refused_before_it_is_encoded(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint.vae, "encode", None)
    with pytest.raises(RequestError, match=r"^prompt audio has 2\.0 s, this model has room for less than "):
        AudioEncoder(checkpoint, 2).encode(speech(2.0, 16_000), 16_000, "prompt")
