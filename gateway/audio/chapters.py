"""Chapter marks in files: ID3 in mp3 and aac, comments in opus and flac, a track in m4b; others have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class ChapterMark:
    """A chapter in the audio, in seconds of it."""

    title: str
    start: float
    end: float


def put_marks(container: Any, format: str, marks: Sequence[ChapterMark]) -> None:
    """Have an output container of PyAV, of which nothing is written yet, carry the marks."""
    if format == "flac":  # whose muxer in FFmpeg knows no chapters
        for number, mark in enumerate(marks, 1):
            container.metadata[f"CHAPTER{number:03d}"] = _clock(mark.start)
            container.metadata[f"CHAPTER{number:03d}NAME"] = mark.title
        return
    container.set_chapters(
        [
            {
                "id": number,
                "start": round(1000 * mark.start),
                "end": round(1000 * mark.end),
                "time_base": Fraction(1, 1000),
                "metadata": {"title": mark.title},
            }
            for number, mark in enumerate(marks)
        ]
    )


def _clock(seconds: float) -> str:
    minutes, milliseconds = divmod(round(1000 * seconds), 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{milliseconds // 1000:02d}.{milliseconds % 1000:03d}"
