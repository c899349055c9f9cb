"""A story of five minutes: does the voice stay the same, at the same pace, and in the text?

It is spoken as one request, in parts of whole sentences as the Python API and the gateway do. What comes of
it is cut into windows of about 20 s, each in the pause nearest to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.judging.judge import endings, errors_in
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE, median_pitch, plain_words
from benchmarks.voice.speakers.readers import Clip, ModelReader
from models.sentences import parts

FILE = Path(__file__).parent / "texts" / "story.txt"
WINDOW_SECONDS, SEARCH_SECONDS, QUIET_SECONDS = 20.0, 4.0, 0.15
PART_CHARACTERS = 160
MOST_DRIFT_PERCENT, MOST_PACE_PERCENT, MOST_ERRORS = 6.0, 15.0, 0.08


def windows(samples: np.ndarray) -> list[np.ndarray]:
    """A clip at 16 kHz in windows; what is left at its end belongs to the last."""
    found, start = [], 0
    step, near = int(WINDOW_SECONDS * SAMPLE_RATE), int(SEARCH_SECONDS * SAMPLE_RATE)
    quiet = int(QUIET_SECONDS * SAMPLE_RATE)
    while len(samples) - start > 1.5 * step:
        first = start + step - near
        energy = np.convolve(samples[first : first + 2 * near] ** 2, np.ones(quiet), "valid")
        end = first + int(energy.argmin()) + quiet // 2
        found.append(samples[start:end])
        start = end
    return [*found, samples[start:]]


def drifts(pieces: list[np.ndarray]) -> list[float]:
    """How far the median pitch of each window is from that of the first, in percent."""
    pitches = [median_pitch(piece) for piece in pieces]
    return [100 * (pitch / pitches[0] - 1) for pitch in pitches]


def measure(
    reader: ModelReader, tell: Callable[[str], Clip], judges: Judges, voice: str = "default", most: int = 0
) -> dict[str, Any]:
    """tell: the voice's teacher, who reads the same parts. most: characters of the story, all of it if 0."""
    text = FILE.read_text()
    text = " ".join(text[: text.rindex(".", 0, most) + 1 if most else None].split())
    clip = reader.read(text, voice)
    told = [tell(part).samples for part in parts(text, PART_CHARACTERS, ("en",))]
    pieces = windows(clip.samples)
    heard = [judges.words(piece) for piece in pieces]
    minutes = [len(piece) / SAMPLE_RATE / 60 for piece in pieces]
    paces = [len(plain_words(words).split()) / m for words, m in zip(heard, minutes, strict=True)]
    drift = drifts(pieces)
    return {
        **endings([clip]),
        "voice": voice,
        "word_error_rate": errors_in([clip], [" ".join(heard)]),
        "words_a_minute": len(plain_words(text).split()) / sum(minutes),
        "pitch_hz": round(median_pitch(pieces[0]), 1),
        "drift_percent": [round(percent, 2) for percent in drift],
        "worst_drift_percent": max(map(abs, drift)),
        "teacher_worst_drift_percent": max(map(abs, drifts(windows(np.concatenate(told))))),
        "pace": [round(pace, 1) for pace in paces],
        "worst_pace_percent": max(100 * abs(pace / np.mean(paces) - 1) for pace in paces),
        "heard": heard,
    }


def goals(figures: dict[str, Any]) -> dict[str, bool]:
    drift = f"story: pitch of every {WINDOW_SECONDS:.0f} s within {MOST_DRIFT_PERCENT:.0f} % of the first"
    pace = f"story: words a minute within {MOST_PACE_PERCENT:.0f} %"
    babble = f"story: no babble, word error rate <= {MOST_ERRORS}"
    return {
        drift: figures["worst_drift_percent"] <= MOST_DRIFT_PERCENT,
        pace: figures["worst_pace_percent"] <= MOST_PACE_PERCENT,
        babble: figures["word_error_rate"] <= MOST_ERRORS,
    }
