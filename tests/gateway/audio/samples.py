"""Samples of a tone, and how much of them is in a file."""

from __future__ import annotations

import io

import av
import numpy as np


def tone(seconds: float, rate: int) -> bytes:
    times = np.arange(round(seconds * rate)) / rate
    return (8000 * np.sin(2 * np.pi * 440 * times)).astype("<i2").tobytes()


def decoded_seconds(data: bytes, format: str, rate: int) -> float:
    if format == "pcm":
        return len(data) / 2 / rate
    with av.open(io.BytesIO(data)) as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))
