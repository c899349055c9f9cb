"""Noise is taken out of a recording, and the speech stays where it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from models.denoising import LEAST_RATE, denoised, is_available

SPEECH, RATE = soundfile.read(
    Path(__file__).parents[2] / "models" / "voxcpm" / "bundled" / "voices" / "default.flac", dtype="float32"
)
RATES = (8_000, 16_000, 24_000, 44_100, 48_000)


def noisy(speech: np.ndarray, decibels: float) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal(len(speech)).astype(np.float32)
    return speech + noise * np.sqrt(np.mean(speech**2)) * 10 ** (-decibels / 20)


def range_db(samples: np.ndarray, rate: int) -> float:
    """Between the loudest and the quietest twentieth of its frames."""
    frames = samples[: len(samples) // (rate // 50) * (rate // 50)].reshape(-1, rate // 50)
    quiet, loud = np.percentile(np.mean(frames**2, axis=1) + 1e-9, (5, 95))
    return float(10 * np.log10(loud / quiet))


@pytest.mark.parametrize("rate", RATES)
def test_noise_goes_and_speech_stays_at_its_place(rate: int) -> None:
    speech = soxr.resample(SPEECH[: 6 * RATE], RATE, rate)
    recording = noisy(speech, 10)
    clean = denoised(recording, rate)
    assert clean.shape == speech.shape and clean.dtype == np.float32
    assert range_db(clean, rate) > range_db(recording, rate) + 15
    assert np.corrcoef(clean, speech)[0, 1] > 0.9


@pytest.mark.parametrize("rate", [16_000.0, np.float32(16_000)])
def test_a_rate_may_be_no_whole_number(rate: float) -> None:
    assert np.array_equal(denoised(SPEECH[:9_000], rate), denoised(SPEECH[:9_000], 16_000))


@pytest.mark.parametrize("count", [1, 100, LEAST_RATE])
def test_the_lowest_rate_is_one_that_it_can_do(count: int) -> None:
    assert denoised(SPEECH[:count], LEAST_RATE).shape == (count,)


def test_what_is_clean_is_left_almost_as_it_is() -> None:
    clean = denoised(SPEECH, RATE)
    assert np.corrcoef(clean, SPEECH)[0, 1] > 0.98


@pytest.mark.parametrize("count", [0, 1, 100, 479, 16_001])
def test_every_length_is_kept(count: int) -> None:
    assert is_available()
    assert denoised(np.full(count, 2.0, np.float32), 16_000).shape == (count,)
