"""Texts that trip small models, each kind by itself, read by the default voice and by its teacher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.voice.judging.judge import endings, errors_in
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.speakers.readers import Clip, ModelReader, TeacherReader
from gateway.text import normalise

FILE = Path(__file__).parent / "texts" / "hard.txt"
MOST_ERRORS = 0.08


def hard_texts() -> list[tuple[str, str]]:
    """(kind, text) of each line of `texts/hard.txt`."""
    return [tuple(line.split("\t")) for line in FILE.read_text().splitlines()]  # type: ignore[misc]


def measure(reader: ModelReader, teacher: TeacherReader, judges: Judges, seeds: int) -> dict[str, Any]:
    """Every text is put into words as the gateway does, then spoken with `seeds` seeds."""
    texts = hard_texts()
    jobs = [{"text": normalise(t, "en", spell=True).text, "seed": s} for s in range(seeds) for _, t in texts]
    spoken = reader.read_all(jobs)
    clips = [replace(clip, text=text) for clip, (_, text) in zip(spoken, texts * seeds, strict=True)]
    wanted = [teacher.read(text, teacher.counterpart("default")) for _, text in texts]
    heard, teacher_heard = ([judges.words(clip.samples) for clip in them] for them in (clips, wanted))
    kinds = {}
    for kind in dict.fromkeys(kind for kind, _ in texts):
        of_kind = [index for index, (each, _) in enumerate(texts * seeds) if each == kind]
        of_teacher = [index for index in of_kind if index < len(texts)]
        kinds[kind] = {
            "word_error_rate": errors_in([clips[i] for i in of_kind], [heard[i] for i in of_kind]),
            "teacher_word_error_rate": errors_in(
                [wanted[i] for i in of_teacher], [teacher_heard[i] for i in of_teacher]
            ),
            "clips": [_line(clips[i], heard[i]) for i in of_kind],
        }
    return {
        **endings(clips),
        "word_error_rate": errors_in(clips, heard),
        "teacher_word_error_rate": errors_in(wanted, teacher_heard),
        "kinds": kinds,
    }


def _line(clip: Clip, heard: str) -> dict[str, Any]:
    return {"text": clip.text, "seed": clip.seed, "heard": heard, "finish_reason": clip.finish_reason}


def goals(figures: dict[str, Any]) -> dict[str, bool]:
    return {
        f"hard texts: word error rate <= {MOST_ERRORS}": figures["word_error_rate"] <= MOST_ERRORS,
        "hard texts: every clip stops by itself": figures["stop_rate"] == 1.0,
    }
