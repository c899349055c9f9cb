"""Samples other than s16le, raw and in WAV files, whole and while they come."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from gateway.audio.encoders import stream_encoder
from gateway.audio.formats import encode_clip
from tests.gateway.audio.samples import tone

RATE = 8000
PCM = tone(0.5, RATE)
SAMPLES = np.frombuffer(PCM, dtype="<i2") / 32768
SUBTYPES = {"ulaw": "ULAW", "alaw": "ALAW", "f32": "FLOAT"}
FINENESS = {"ulaw": 0.01, "alaw": 0.01, "f32": 0.0}


def pieces(format: str) -> bytes:
    encoder = stream_encoder(format, RATE, noted=False)
    first = encoder.encode(PCM[:320])
    assert len(first) >= 160, "nothing is held back"
    return first + encoder.encode(PCM[320:]) + encoder.finish()


@pytest.mark.parametrize("samples", SUBTYPES)
def test_raw_samples_are_those_of_the_clip(samples: str) -> None:
    whole = encode_clip(PCM, RATE, samples, noted=True)
    assert pieces(samples) == whole
    file = io.BytesIO(whole)
    heard, _ = soundfile.read(
        file, format="RAW", subtype=SUBTYPES[samples], channels=1, samplerate=RATE, endian="LITTLE"
    )
    assert len(heard) == len(SAMPLES) and np.abs(heard - SAMPLES).max() <= FINENESS[samples]


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize("samples", SUBTYPES)
def test_a_wav_file_says_what_its_samples_are(samples: str, noted: bool) -> None:
    whole = encode_clip(PCM, RATE, f"wav-{samples}", noted=noted)
    heard, rate = soundfile.read(io.BytesIO(whole))
    assert rate == RATE and soundfile.info(io.BytesIO(whole)).subtype == SUBTYPES[samples]
    assert len(heard) == len(SAMPLES) and np.abs(heard - SAMPLES).max() <= FINENESS[samples]
    raw = encode_clip(PCM, RATE, samples, noted=noted)
    assert pieces(f"wav-{samples}").endswith(raw) and whole.endswith(raw)
