"""How much a clip sounds like the stranger whose recording it was given.

Resemblyzer's cosine between two recordings is high for any two of the same language, so it is put on a scale:
0 is the mean between different strangers, 1 what the stranger's own other recordings have to the one given.
The one given is some 10 s long, as people are asked for.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.judging.judge import endings, errors_in, pitch_of
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.speakers.readers import ModelReader, Recording, TeacherReader
from benchmarks.voice.speakers.strangers import strangers

GIVEN, RECORDINGS = 3, 6
"""Of the recordings of a stranger the first three, joined, are given to the model."""
SHORTEST_TEXT = 40
"""Characters: Resemblyzer knows little of a speaker after a second."""
LEAST_LIKENESS, MOST_PITCH_PERCENT, MOST_TIMES_THE_DEFAULT = 0.5, 10.0, 2.0


def measure(
    reader: ModelReader, teacher: TeacherReader, judges: Judges, texts: list[str], sounds: Path | None
) -> dict[str, Any]:
    """Each stranger says the first few of `texts`; the model says the others with each stranger's voice."""
    people = strangers(teacher, texts[:RECORDINGS], sounds)
    said = texts[RECORDINGS:]
    people = {name: [joined(own[:GIVEN]), *own[GIVEN:]] for name, own in people.items()}
    voices = {name: [judges.speaker(r.clip.samples) for r in own] for name, own in people.items()}
    floor = float(np.mean([np.dot(voices[a][0], voices[b][0]) for a, b in combinations(people, 2)]))
    rows, clips, heard = {}, [], []
    for name, recordings in people.items():
        spoken = reader.read_all([{"text": text, "reference_audio": recordings[0].audio} for text in said])
        words = [judges.words(clip.samples) for clip in spoken]
        theirs = [recording.clip for recording in recordings[1:]]
        first, *others = voices[name]
        own = float(np.mean([np.dot(first, other) for other in others]))
        like = float(np.mean([np.dot(first, judges.speaker(clip.samples)) for clip in spoken]))
        rows[name] = {
            "similarity": like,
            "own_similarity": own,
            "likeness": (like - floor) / (own - floor),
            "word_error_rate": errors_in(spoken, words),
            "own_word_error_rate": errors_in(theirs, [judges.words(clip.samples) for clip in theirs]),
            **pitches(spoken, recordings[0]),
        }
        clips += spoken
        heard += words
    return {
        **endings(clips),
        "strangers": rows,
        "between_strangers": floor,
        "likeness": float(np.mean([row["likeness"] for row in rows.values()])),
        "pitch_off_percent": float(np.mean([row["pitch_off_percent"] for row in rows.values()])),
        "word_error_rate": errors_in(clips, heard),
    }


def joined(recordings: list[Recording]) -> Recording:
    """Recordings of one speaker as one."""
    samples = np.concatenate([recording.samples for recording in recordings])
    return Recording(" ".join(r.text for r in recordings), samples, recordings[0].sample_rate)


def pitches(clips: list[Any], recording: Recording) -> dict[str, float]:
    """Median pitch of the clips in Hz, of the recording, and how far the one is from the other."""
    own, wanted = pitch_of(clips) or float("nan"), pitch_of([recording.clip]) or float("nan")
    off = 100 * abs(own / wanted - 1)
    return {"pitch_hz": own, "reference_pitch_hz": wanted, "pitch_off_percent": off}


def goals(figures: dict[str, Any], default_errors: float | None) -> dict[str, bool]:
    """default_errors: word error rate of the default voice, where it was measured."""
    met = {
        f"a stranger's reference: likeness >= {LEAST_LIKENESS}": figures["likeness"] >= LEAST_LIKENESS,
        f"a stranger's reference: pitch within {MOST_PITCH_PERCENT:.0f} %": figures["pitch_off_percent"]
        <= MOST_PITCH_PERCENT,
    }
    if default_errors is not None:
        rule = f"a stranger's reference: word error rate <= {MOST_TIMES_THE_DEFAULT:.0f} x the default's"
        met[rule] = figures["word_error_rate"] <= MOST_TIMES_THE_DEFAULT * default_errors
    return met
