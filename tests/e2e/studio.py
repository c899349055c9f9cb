"""What the tests of the studio share: a recording of a "voice", and a gateway with data of its own."""

from __future__ import annotations

import contextlib
import tempfile
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.e2e.processes import Server, gateway, worker

RATE = 16_000


def write_voice(path: Path, seconds: float = 8.0, pause: tuple[float, float] | None = None) -> Path:
    """A WAV file that passes for speech: harmonics of a gliding pitch in syllables, over a little noise."""
    time = np.arange(round(RATE * seconds)) / RATE
    phase = 2 * np.pi * np.cumsum(130 + 25 * np.sin(2 * np.pi * 0.7 * time)) / RATE
    syllables = np.clip(np.sin(2 * np.pi * 3.1 * time) + 0.35, 0, 1) ** 0.5
    harmonics = sum(np.sin(k * phase) / k**1.2 for k in range(1, 18))
    noise = np.random.default_rng(0).normal(0, 0.0008, len(time))
    if pause is not None:
        syllables[(time > pause[0]) & (time < pause[1])] = 0
    samples = 0.12 * syllables * harmonics + noise
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return path


@contextlib.contextmanager
def fleet_with_data(**environment: str) -> Iterator[Server]:
    """A gateway with one fast worker, and a data folder that nobody else uses."""
    with (
        tempfile.TemporaryDirectory() as data,
        worker(slots=2, step_ms=10) as one,
        gateway([one.url], VOXFLEET_DATA_DIR=data, **environment) as edge,
    ):
        yield edge
