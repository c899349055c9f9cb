"""Recordings that sound enough like speech to be examined: harmonics that come and go between pauses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

RATE = 16_000
WORDS = "hello world again "


def voiced(
    seconds: float, pitch: float = 120.0, level: float = 0.1, seed: int = 0, lead: float = 0.1
) -> np.ndarray:
    """float32 [samples] at RATE: `lead` seconds of faint noise, then syllables at `pitch` Hz."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    tones = sum(np.sin(2 * np.pi * pitch * k * time + random.uniform(0, 6)) / k for k in range(1, 20))
    syllables = 0.55 + 0.45 * np.sin(2 * np.pi * 4 * time)
    speech = level * syllables * tones / np.sqrt(np.mean(np.square(tones)))
    silence = np.zeros(round(lead * RATE))
    samples = np.concatenate([silence, speech, silence])
    return (samples + 1e-4 * random.standard_normal(len(samples))).astype(np.float32)


def write(folder: Path, name: str, samples: np.ndarray, text: str, rate: int = RATE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    soundfile.write(folder / f"{name}.wav", samples, rate)
    (folder / f"{name}.txt").write_text(text)
    return folder / f"{name}.wav"


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen recordings of two seconds each, with transcripts."""
    folder = tmp_path_factory.mktemp("recordings")
    for number in range(16):
        samples = voiced(2 + number / 40, 110 + number, seed=number)
        write(folder, f"clip{number:02}", samples, WORDS + "thing " * (number % 3 + 1))
    return folder
