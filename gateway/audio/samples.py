"""Samples as numbers, and as the bytes that clips consist of."""

from __future__ import annotations

import numpy as np


def as_s16(audio: np.ndarray) -> bytes:
    """float [samples] in [-1, 1] -> s16le; what is beyond is clipped."""
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype("<i2").tobytes()


def from_s16(pcm: bytes) -> np.ndarray:
    """s16le -> float32 [samples] in [-1, 1)."""
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
