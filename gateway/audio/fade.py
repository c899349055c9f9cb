"""The end of audio that breaks off, without a click."""

from __future__ import annotations

import numpy as np

_FADE_SECONDS = 0.02


def fade_out(pcm: bytes, sample_rate: int) -> bytes:
    """The first 20 ms of s16le mono samples, quieter and quieter."""
    samples = np.frombuffer(pcm, "<i2")[: round(_FADE_SECONDS * sample_rate)]
    gain = np.cos(np.linspace(0.0, np.pi / 2, len(samples))) ** 2
    return np.rint(samples * gain).astype("<i2").tobytes()
