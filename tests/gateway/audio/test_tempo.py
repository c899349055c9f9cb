"""Speech at another speed: as long as it should be, at the same pitch, without clicks, as it comes in."""

from __future__ import annotations

import numpy as np
import pytest

from gateway.audio.tempo import Tempo

RATE = 24000
SPEEDS = [0.25, 0.4, 0.5, 0.8, 1.1, 1.5, 2.0, 2.5, 4.0]


def voice(seconds: float) -> np.ndarray:
    """A buzz of some harmonics that gets louder and softer, as syllables do."""
    times = np.arange(round(seconds * RATE)) / RATE
    tone = sum(np.sin(2 * np.pi * 140 * n * times) / n for n in range(1, 6))
    return (6000 * tone * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * times))).astype("<i2")


def stretched(samples: np.ndarray, speed: float, step: int = 3840) -> np.ndarray:
    tempo = Tempo(RATE, speed)
    pieces = [tempo.process(samples[at : at + step].tobytes()) for at in range(0, len(samples), step)]
    return np.frombuffer(b"".join(pieces) + tempo.process(b"", last=True), "<i2")


def steepest(samples: np.ndarray) -> int:
    return np.abs(np.diff(samples.astype(int))).max()


@pytest.mark.parametrize("speed", SPEEDS)
def test_length_and_pitch_are_right_and_nothing_clicks(speed: float) -> None:
    samples = voice(3.0)
    result = stretched(samples, speed)
    assert len(result) == pytest.approx(len(samples) / speed, abs=0.01 * RATE)
    spectrum = np.abs(np.fft.rfft(result * np.hanning(len(result))))
    loudest = np.argmax(spectrum) * RATE / len(result)
    assert loudest == pytest.approx(140, abs=4)
    assert steepest(result) <= 1.3 * steepest(samples)


@pytest.mark.parametrize("speed", [0.5, 1.5, 4.0])
def test_how_the_audio_comes_in_changes_nothing(speed: float) -> None:
    samples = voice(1.0)
    assert np.array_equal(stretched(samples, speed, 3840), stretched(samples, speed, 777))


@pytest.mark.parametrize("speed", SPEEDS)
def test_it_comes_out_while_it_comes_in(speed: float) -> None:
    tempo, given = Tempo(RATE, speed), 0
    for _ in range(10):
        given += len(tempo.process(voice(0.1).tobytes())) // 2
    assert given / RATE * speed > 1.0 - 0.25


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("count", [0, 1, 100, 2000])
def test_short_clips_have_their_length_too(speed: float, count: int) -> None:
    result = stretched(voice(1.0)[:count], speed)
    assert len(result) == pytest.approx(count / speed, abs=0.01 * RATE)
    assert len(result) > 0 or not count


def test_at_its_own_speed_audio_is_left_alone() -> None:
    samples = voice(0.3)
    assert np.array_equal(stretched(samples, 1.0), samples)
