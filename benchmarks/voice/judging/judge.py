"""A voice on held-out sentences: how it sounds, how well it is understood, and whether its clips end.

Every figure stands beside that of the teacher's own audio of the same sentences.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import (
    SAMPLE_RATE,
    compared_words,
    is_cut,
    is_silent,
    is_too_long,
    largest_jump,
    longest_pause,
    median_pitch,
    spoken_seconds,
    word_error_rate,
)
from benchmarks.voice.speakers.readers import Clip
from models.voxcpm.vae.audio_encoding import read_audio, resample

LEAST_MOS = {True: (4.0, 3.2), False: (3.8, 3.0)}
"""Mean and worst clip, of the default voice and of the others."""
MOST_ERRORS, MOST_TIMES_THE_TEACHERS = 0.03, 2.5


def duration_ratios(clips: list[Clip], wanted: list[Clip]) -> list[float]:
    """Length of each clip over that of the teacher's, silence before and after left aside."""
    pairs = zip(clips, wanted, strict=True)
    return [spoken_seconds(clip.samples) / spoken_seconds(other.samples) for clip, other in pairs]


def pitch_of(clips: Sequence[Clip]) -> float | None:
    """Median over clips of their median pitch in Hz; None where nothing is voiced."""
    pitches = [pitch for clip in clips if np.isfinite(pitch := median_pitch(clip.samples))]
    return float(np.median(pitches)) if pitches else None


def reference_pitch(directory: Path, voice: str) -> float | None:
    """Median pitch in Hz of the reference clip of a named voice; None for the voice of no reference."""
    file = directory / "voices" / "voices.json"
    entry = json.loads(file.read_text()).get(voice) if file.is_file() else None
    if not entry or not entry.get("audio"):
        return None
    samples, sample_rate = read_audio(file.with_name(entry["audio"]))
    return pitch_of([Clip("", resample(samples, sample_rate, SAMPLE_RATE))])


def heard_and_scored(clips: Sequence[Clip], judges: Judges) -> tuple[list[str], list[float]]:
    """What the judges hear in each clip, and their opinion of it."""
    return [judges.words(c.samples) for c in clips], [judges.opinion_score(c.samples) for c in clips]


def errors_in(clips: Sequence[Clip], heard: Sequence[str]) -> float:
    """Word error rate over all clips together."""
    return word_error_rate([clip.text for clip in clips], heard)


def endings(clips: Sequence[Clip]) -> dict[str, Any]:
    """How clips ended, and how many are silent, cut in the middle of a sound, or far too long."""
    reasons = Counter(str(clip.finish_reason) for clip in clips)
    return {
        "clips": len(clips),
        "audio_seconds": sum(clip.seconds for clip in clips),
        "finish_reasons": dict(reasons),
        "stop_rate": reasons["stop"] / len(clips),
        "runaway": reasons["runaway"],
        "silent": sum(is_silent(clip.samples) for clip in clips),
        "cut": sum(is_cut(clip.samples) for clip in clips),
        "too_long": sum(is_too_long(clip.text, clip.samples) for clip in clips),
        "longest_pause_seconds": max(longest_pause(clip.samples) for clip in clips),
        "largest_jump": max(largest_jump(clip.samples) for clip in clips),
    }


def judge(clips: list[Clip], wanted: list[Clip], judges: Judges) -> dict[str, Any]:
    """Figures of `clips` beside those of the teacher's clips of the same texts."""
    once = list({clip.text: clip for clip in wanted}.values())
    heard, scores = heard_and_scored(clips, judges)
    teacher_heard, teacher_scores = heard_and_scored(once, judges)
    ratios = duration_ratios(clips, wanted)
    return {
        **endings(clips),
        "mos": float(np.mean(scores)),
        "mos_worst": float(np.min(scores)),
        "teacher_mos": float(np.mean(teacher_scores)),
        "teacher_mos_worst": float(np.min(teacher_scores)),
        "word_error_rate": errors_in(clips, heard),
        "teacher_word_error_rate": errors_in(once, teacher_heard),
        "worst_duration_ratio": max(ratios, key=lambda ratio: abs(ratio - 1)),
        "median_duration_ratio": float(np.median(ratios)),
        "pitch_hz": pitch_of(clips),
        "teacher_pitch_hz": pitch_of(wanted),
        "sentences": [
            {"text": clip.text, "seed": clip.seed, "mos": round(score, 2), "duration_ratio": round(ratio, 3)}
            | {"finish_reason": clip.finish_reason, "heard": words}
            for clip, score, ratio, words in zip(clips, scores, ratios, heard, strict=True)
        ],
    }


def goals(voice: str, figures: dict[str, Any]) -> dict[str, bool]:
    """The rules a bundled voice is held to, and whether this one keeps them."""
    mean, worst = LEAST_MOS[voice == "default"]
    errors = max(MOST_ERRORS, MOST_TIMES_THE_TEACHERS * figures["teacher_word_error_rate"])
    met = {
        f"opinion score >= {mean}": figures["mos"] >= mean,
        f"opinion score of the worst clip >= {worst}": figures["mos_worst"] >= worst,
        f"word error rate <= {MOST_ERRORS} or {MOST_TIMES_THE_TEACHERS} x the teacher's": figures[
            "word_error_rate"
        ]
        <= errors,
        "every clip stops by itself": figures["stop_rate"] == 1.0,
        "no clip is silent or cut": figures["silent"] + figures["cut"] == 0,
    }
    reference = figures["reference_pitch_hz"] or figures["teacher_pitch_hz"]
    if reference:
        own = figures["pitch_hz"] or 0.0
        met["pitch within 10 % of the reference's"] = abs(own / reference - 1) <= 0.1
    return met


def worst_first(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """The sentences of one voice, those with the lowest opinion scores first."""
    return sorted(figures["sentences"], key=lambda sentence: sentence["mos"])


def described(sentence: dict[str, Any]) -> str:
    """One line: opinion score, text, and what was heard where that is something else."""
    said, understood = compared_words(sentence["text"], sentence["heard"])
    heard = f" (heard: {sentence['heard']})" if said != understood else ""
    return f"{sentence['mos']:.2f}  {sentence['text']}{heard}"
