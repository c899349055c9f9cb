"""Cues of subtitles, and what clients are told of the times of a part.

A cue is what a viewer reads at once: at most two lines, and for some seconds. It ends with a sentence where
that fits.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.timing.part import PartTimes
from gateway.timing.words import CLOSING, Granularity, Timed
from models.sentences import sentence_ends

_MOST_CHARACTERS = 84
"""Two lines of 42."""
_LONGEST_SECONDS = 7.0
_PAUSE_SECONDS = 0.6
_SENTENCE_ENDS = ".!?\u3002\uff01\uff1f\u2026"
_CLAUSE_ENDS = ",;:\uff0c\uff1b\uff1a\u3001\u2014"


@dataclass(frozen=True)
class Cue:
    """Characters [start, end) of a text, when they are shown, and what is shown."""

    start: int
    end: int
    start_seconds: float
    end_seconds: float
    text: str


def cues(text: str, words: Sequence[Timed]) -> list[Cue]:
    """The words of `text` in order, in cues. Offsets of the words are those of `text`."""
    found: list[list[Timed]] = []
    ends = sentence_ends(text)
    for word in words:
        over = bool(found) and _ends(text, found[-1][-1], _SENTENCE_ENDS, ends)
        if not found or over or _is_full(found[-1], word):
            found += [[word]] if not found or over else _broken(text, found.pop(), word)
        else:
            found[-1].append(word)
    return [_cue(text, group) for group in found]


def _is_full(group: Sequence[Timed], word: Timed) -> bool:
    long = word.end - group[0].start > _MOST_CHARACTERS
    late = word.end_seconds - group[0].start_seconds > _LONGEST_SECONDS
    paused = word.start_seconds - group[-1].end_seconds > _PAUSE_SECONDS
    return long or late or paused


def _broken(text: str, group: list[Timed], word: Timed) -> list[list[Timed]]:
    """A cue that is full, and the next one: it ends with a clause, if one ends in its second half."""
    for place in range(len(group) - 1, len(group) // 2, -1):
        if _ends(text, group[place - 1], _CLAUSE_ENDS):
            return [group[:place], [*group[place:], word]]
    return [group, [word]]


def _ends(text: str, word: Timed, marks: str, sentences: Container[int] | None = None) -> bool:
    """By its last mark; a full stop ends one of `sentences`, or belongs to an abbreviation."""
    mark = text[word.start : word.end].rstrip(CLOSING)[-1:]
    return mark in marks and (sentences is None or mark != "." or word.end in sentences)


def _cue(text: str, words: Sequence[Timed]) -> Cue:
    first, last = words[0], words[-1]
    shown = " ".join(text[first.start : last.end].split())
    return Cue(first.start, last.end, first.start_seconds, last.end_seconds, shown)


def as_fields(part: PartTimes, granularity: Granularity) -> dict[str, Any]:
    """What our own clients are told of a part: `source`, `words` or `characters`, and `cues`."""
    by_character = granularity == "character"
    timed = part.characters if by_character else part.words
    words = [timed_fields(each, part.written(each)) for each in timed]
    local = part.moved(-part.start, 0.0).words
    shown = [timed_fields(cue, cue.text, part.start) for cue in cues(part.text, local)]
    return {"source": part.source, "characters" if by_character else "words": words, "cues": shown}


def timed_fields(timed: Timed | Cue, text: str, characters: int = 0) -> dict[str, Any]:
    """`characters`: of the text before it."""
    return {
        "text": text,
        "start": timed.start + characters,
        "end": timed.end + characters,
        "start_seconds": round(timed.start_seconds, 3),
        "end_seconds": round(timed.end_seconds, 3),
    }


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The fields of all parts as one; `source` is `mixed` where they differ. None without any part."""
    if not parts:
        return None
    sources = {part["source"] for part in parts}
    names = [name for name in parts[0] if name != "source"]
    lists = {name: [item for part in parts for item in part[name]] for name in names}
    return {"source": sources.pop() if len(sources) == 1 else "mixed", **lists}
