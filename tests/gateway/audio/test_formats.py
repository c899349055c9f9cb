"""Every format decodes back to what was encoded: as long, at the same rate, the same waveform."""

from __future__ import annotations

import io

import av
import numpy as np
import pytest
import soundfile

from gateway.audio.formats import (
    AUDIO_FORMATS,
    Resampler,
    encode_clip,
    output_sample_rate,
    sample_rate_problem,
)
from tests.gateway.audio.files import wav_samples

SECONDS = 2.37
LOSSLESS = ("wav", "flac")
CODEC_DELAY_SECONDS = 0.15
"""How much longer a compressed clip may be: priming and padding that its container cannot declare."""


def sweep(rate: int, seconds: float = SECONDS) -> np.ndarray:
    """s16 samples of a rising tone: two different moments never look the same."""
    time = np.arange(round(seconds * rate)) / rate
    return (0.5 * 32767 * np.sin(2 * np.pi * (200 + 150 * time) * time)).astype("<i2")


def decode(file: bytes) -> tuple[np.ndarray, int]:
    with av.open(io.BytesIO(file)) as container:
        stream = container.streams.audio[0]
        frames = [frame.to_ndarray().reshape(-1).astype(np.float64) for frame in container.decode(stream)]
        assert stream.codec_context.layout.nb_channels == 1
        return np.concatenate(frames), stream.rate


def best_correlation(original: np.ndarray, decoded: np.ndarray) -> float:
    """Of the two signals at the delay that fits best."""
    size = 1 << (len(original) + len(decoded)).bit_length()
    spectrum = np.fft.rfft(decoded, size) * np.conj(np.fft.rfft(original, size))
    return float(np.fft.irfft(spectrum, size).max() / (np.linalg.norm(original) * np.linalg.norm(decoded)))


def resampled_by(samples: np.ndarray, chunk: int, rate: int = 16000) -> np.ndarray:
    """From 24 kHz, so many samples at a time."""
    resampler = Resampler(24000, rate)
    chunks = [samples[start : start + chunk].tobytes() for start in range(0, len(samples), chunk)]
    pcm = b"".join(resampler.process(chunk) for chunk in chunks) + resampler.process(b"", last=True)
    return np.frombuffer(pcm, dtype="<i2")


@pytest.mark.parametrize("rate", [16000, 24000, 48000])
@pytest.mark.parametrize("format", [name for name in AUDIO_FORMATS if name != "pcm"])
def test_a_clip_decodes_to_itself(format: str, rate: int) -> None:
    original = sweep(rate)
    decoded, decoded_rate = decode(encode_clip(original.tobytes(), rate, format, noted=True))
    if format == "opus":
        assert decoded_rate == 48000, "Opus always decodes at 48 kHz"
        original = sweep(48000)
    else:
        assert decoded_rate == rate
    extra_seconds = (len(decoded) - len(original)) / decoded_rate
    if format in LOSSLESS:
        assert extra_seconds == 0
    assert 0 <= extra_seconds <= CODEC_DELAY_SECONDS
    assert best_correlation(original.astype(np.float64), decoded) > 0.99


@pytest.mark.parametrize("format", LOSSLESS)
def test_headers_of_lossless_files_say_the_true_length(format: str) -> None:
    original = sweep(24000)
    file = encode_clip(original.tobytes(), 24000, format, noted=True)
    info = soundfile.info(io.BytesIO(file))
    assert (info.frames, info.samplerate, info.channels) == (len(original), 24000, 1)
    samples, _ = soundfile.read(io.BytesIO(file), dtype="int16")
    assert np.array_equal(samples, original)


def test_a_wav_header_has_the_size_of_the_file() -> None:
    pcm = sweep(24000).tobytes()
    assert wav_samples(encode_clip(pcm, 24000, "wav", noted=True)) == pcm


def test_pcm_is_passed_through() -> None:
    pcm = sweep(24000).tobytes()
    assert encode_clip(pcm, 24000, "pcm", noted=True) == pcm


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_resampling_in_chunks_keeps_length_and_waveform(rate: int) -> None:
    original = sweep(24000)
    resampled = resampled_by(original, 1920, rate)
    assert abs(len(resampled) - SECONDS * rate) <= 2
    assert best_correlation(sweep(rate).astype(np.float64), resampled.astype(np.float64)) > 0.999


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
def test_resampled_samples_are_equal_however_they_are_cut(rate: int) -> None:
    original = sweep(24000)
    whole = resampled_by(original, len(original), rate)
    assert all(np.array_equal(resampled_by(original, chunk, rate), whole) for chunk in (7, 1920, 30001))


def test_resampled_silence_is_silence() -> None:
    assert not resampled_by(np.zeros(24000, "<i2"), 1920).any()


def test_resampling_clips_what_is_too_loud() -> None:
    square = np.where(np.arange(24000) // 50 % 2, 32767, -32768).astype("<i2")
    resampled = resampled_by(square, 1920)
    assert (resampled.min(), resampled.max()) == (-32768, 32767)
    assert best_correlation(np.repeat(square, 2)[::3].astype(np.float64), resampled.astype(float)) > 0.98


def test_equal_rates_leave_the_samples_alone() -> None:
    pcm = sweep(24000).tobytes()
    resampler = Resampler(24000, 24000)
    assert resampler.process(pcm) + resampler.process(b"", last=True) == pcm


@pytest.mark.parametrize(
    ("format", "model_rate", "expected"),
    [
        ("wav", 44100, 44100),
        ("opus", 44100, 48000),
        ("opus", 24000, 24000),
        ("mp3", 44100, 44100),
        ("mp3", 23000, 24000),
    ],
)
def test_without_a_wish_the_rate_loses_nothing_that_the_codec_could_keep(
    format, model_rate, expected
) -> None:
    assert output_sample_rate(format, None, model_rate) == expected


def test_a_rate_that_a_codec_lacks_is_a_problem_with_a_name() -> None:
    assert "opus" in sample_rate_problem("opus", 44100)
    assert sample_rate_problem("wav", 44100) is None
    assert sample_rate_problem("opus", None) is None
