"""Files that grow while their audio is generated, in every format."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest

from gateway.audio.encoders import stream_encoder
from gateway.audio.formats import AUDIO_FORMATS, output_sample_rate
from tests.gateway.audio.samples import decoded_seconds, tone

CHUNK_SECONDS = 0.16
HELD_BACK_SECONDS = 0.2
"""More than two frames of any codec here."""


@pytest.mark.parametrize("model_rate", [16000, 24000, 48000])
@pytest.mark.parametrize("format", AUDIO_FORMATS)
def test_what_has_come_can_be_played_at_any_time(format: str, model_rate: int) -> None:
    rate = output_sample_rate(format, None, model_rate)
    pcm, encoder = tone(3.2, rate), stream_encoder(format, rate, noted=True)
    step = 2 * round(CHUNK_SECONDS * rate)
    file = b""
    for start in range(0, len(pcm), step):
        file += encoder.encode(pcm[start : start + step])
        given_seconds = (start + step) / 2 / rate
        if given_seconds >= 0.8:
            assert decoded_seconds(file, format, rate) >= given_seconds - HELD_BACK_SECONDS
    file += encoder.finish()
    assert 3.1999 < decoded_seconds(file, format, rate) < 3.2 + HELD_BACK_SECONDS


@pytest.mark.parametrize("format", ["wav", "flac", "pcm"])
def test_lossless_formats_lose_nothing(format: str) -> None:
    pcm, encoder = tone(1.0, 24000), stream_encoder(format, 24000, noted=True)
    file = b"".join(encoder.encode(pcm[start : start + 999 * 2]) for start in range(0, len(pcm), 999 * 2))
    file += encoder.finish()
    if format == "pcm":
        assert file == pcm
        return
    with av.open(io.BytesIO(file)) as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    assert np.concatenate(frames).astype("<i2").tobytes() == pcm


def test_a_clip_without_audio_is_still_a_file() -> None:
    assert stream_encoder("wav", 24000, noted=True).finish()[:4] == b"RIFF"
    assert stream_encoder("pcm", 24000, noted=True).finish() == b""


@pytest.mark.parametrize("rate", [16000, 24000, 44100])
def test_an_mp3_begins_with_little_of_the_encoder_s_delay(rate: int) -> None:
    encoder = stream_encoder("mp3", rate, noted=True)
    file = encoder.encode(tone(1.0, rate)) + encoder.finish()
    with av.open(io.BytesIO(file)) as container:
        samples = np.concatenate([frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)])
    loud = np.abs(samples) > 0.5 * np.abs(samples).max()
    assert np.argmax(loud) / rate < 0.036


def test_an_mp3_is_whole_from_its_first_sample_on() -> None:
    encoder = stream_encoder("mp3", 24000, noted=False)
    pcm = tone(1.0, 24000)
    file = encoder.encode(pcm) + encoder.finish()
    with av.open(io.BytesIO(file)) as container:
        heard = np.concatenate([frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)])
    said, heard = np.frombuffer(pcm, "<i2") / 32768, heard[529 : 529 + 24000]
    assert np.std(heard[:600] - said[:600]) < 0.2 * np.std(said)
    assert np.std(heard[600:] - said[600:]) < 0.1 * np.std(said)
