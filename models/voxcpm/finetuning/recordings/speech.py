"""A recording as the model is to hear it: mono, at its rate, without silence at the ends, at one level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.voxcpm.vae.audio_encoding import resample

FRAME_SECONDS = 0.02
SILENCE_BELOW_SPEECH_DB = 35.0
"""A frame so much quieter than the loudest ones is a pause."""
LEAD_SECONDS, TAIL_SECONDS = 0.1, 0.15
"""Seconds of silence that stay before and after the speech."""
LEVEL_DB = -23.0
"""Level of the speech in dB of full scale, as in the recordings which the bundled model learnt from."""
MOST_PEAK = 0.98
_QUIETEST = 1e-5


@dataclass(frozen=True)
class Speech:
    """What is used of a recording, and what was seen of it before.

    Attributes:
        samples: float32 at `rate`, trimmed and levelled: from sample `start` of the recording at that rate,
            times `gain`.
        recorded_rate: samples per second of the recording.
        level_db: level of the speech as it was recorded, in dB of full scale.
        noise_db: level of the pauses, likewise.
        clipped: share of samples at full scale.
        lead_seconds, tail_seconds: silence before and after the speech.
    """

    samples: np.ndarray
    rate: int
    recorded_rate: int
    level_db: float
    noise_db: float
    clipped: float
    lead_seconds: float
    tail_seconds: float
    start: int = 0
    gain: float = 1.0

    def at(self, recorded: np.ndarray, rate: int) -> np.ndarray:
        """This stretch cut out of `recorded`, from which it was made, at another rate: float32."""
        samples = resample(recorded, self.recorded_rate, rate)
        start, count = (round(n * rate / self.rate) for n in (self.start, len(self.samples)))
        found = samples[start : start + count].astype(np.float32) * np.float32(self.gain)
        return np.pad(found, (0, count - len(found)))

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


def prepare(recorded: np.ndarray, recorded_rate: int, rate: int) -> Speech:
    """Mono float32 [samples] at `recorded_rate` -> speech at `rate`. Raises ValueError if none is heard."""
    samples = resample(recorded, recorded_rate, rate).astype(np.float32)
    frame = round(FRAME_SECONDS * rate)
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame)
    if not len(frames) or not np.isfinite(samples).all():
        raise ValueError("it holds less than a sound, or values that are not finite")
    power = frames.var(axis=1, dtype=np.float64)  # a constant offset is no sound
    loud = float(np.percentile(power, 95))
    spoken = power > loud * 10 ** (-SILENCE_BELOW_SPEECH_DB / 10)
    if loud < _QUIETEST**2 or not spoken.any():
        raise ValueError("it holds silence only")
    first, last = (int(place) for place in np.flatnonzero(spoken)[[0, -1]])
    level = float(power[spoken].mean())
    start = max(0, first * frame - round(LEAD_SECONDS * rate))
    end = min(len(samples), (last + 1) * frame + round(TAIL_SECONDS * rate))
    kept = samples[start:end]
    gain = min(10 ** (LEVEL_DB / 20) / level**0.5, MOST_PEAK / max(float(np.abs(kept).max()), _QUIETEST))
    return Speech(
        samples=np.ascontiguousarray(kept * np.float32(gain)),
        rate=rate,
        recorded_rate=recorded_rate,
        level_db=decibels(level),
        noise_db=decibels(float(np.percentile(power, 5))),
        clipped=float((np.abs(recorded) >= 0.999).mean()),
        lead_seconds=first * FRAME_SECONDS,
        tail_seconds=(len(frames) - 1 - last) * FRAME_SECONDS,
        start=start,
        gain=gain,
    )


def decibels(power: float) -> float:
    return 10 * float(np.log10(max(power, _QUIETEST**2)))
