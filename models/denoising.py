"""Takes noise out of a recording of speech, by RNNoise, which the extra `denoise` brings.

    if is_available():
        clean = denoised(samples, 16_000)       # float32 [n] -> float32 [n]

What is heard behind a speaker becomes a part of the voice that is made of the recording. RNNoise
(https://jmvalin.ca/demo/rnnoise/) was trained to tell speech from noise, so other speakers stay, and the echo
of a room. What it is good for `benchmarks/voice/noise.py` measures.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

LATE_SECONDS = 0.02
"""By so much what it gives is later than what it took: a frame overlaps the next, and it looks one ahead."""
LEAST_RATE = 4_000
"""Samples per second: of much fewer RNNoise's resampler makes no frame at all."""
_FULL_SCALE = 32_767


def is_available() -> bool:
    """Whether the extra is installed."""
    return find_spec("pyrnnoise") is not None


def denoised(samples: np.ndarray, sample_rate: float) -> np.ndarray:
    """Speech without what is heard behind it: float32 [n] in [-1, 1] -> float32 [n].

    sample_rate: `LEAST_RATE` or more. Takes up to a tenth of the recording's time. Raises ImportError where
    the extra is not installed.
    """
    from pyrnnoise import RNNoise

    late = round(LATE_SECONDS * sample_rate)
    padded = np.pad((np.clip(samples, -1, 1) * _FULL_SCALE).astype(np.int16), (0, 2 * late))
    frames = RNNoise(round(sample_rate)).denoise_chunk(padded[None], partial=True)
    clean = np.concatenate([frame[0] for _, frame in frames])[late : late + len(samples)]
    clean = clean.astype(np.float32) / _FULL_SCALE
    return np.pad(clean, (0, len(samples) - len(clean)))
