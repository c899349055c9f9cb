"""Words of a text, and the times at which they are said.

A word is what stands between white space, with the marks that touch it; of a script without spaces it is a
character. Marks that stand alone are no words: they are said in no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

Source = Literal["aligned", "estimated"]
"""Where times come from: a model that listened, or the text and the audio's pauses."""
Granularity = Literal["none", "word", "character"]
"""What a client wants to know the times of."""
CLOSING = "\"')]\u2019\u201d"
"""Marks that stand behind the one that ends a sentence or clause."""
_IDEOGRAM = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_MARKS = r"[^\w\s]*"
_WORD = re.compile(rf"{_MARKS}[{_IDEOGRAM}]{_MARKS}|(?:(?![{_IDEOGRAM}])\S)+")


@dataclass(frozen=True)
class Timed:
    """Characters [start, end) of a text, and the seconds between which they are said."""

    start: int
    end: int
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True)
class Times:
    """The words of a text in order, without overlap, and none after the end of its audio."""

    source: Source
    words: tuple[Timed, ...]

    def moved(self, characters: int, seconds: float, pace: float = 1.0) -> Times:
        """In a text and a clip that begin so much earlier, and whose speech is `pace` times as fast."""
        return replace(
            self,
            words=tuple(
                Timed(
                    word.start + characters,
                    word.end + characters,
                    word.start_seconds / pace + seconds,
                    word.end_seconds / pace + seconds,
                )
                for word in self.words
            ),
        )

    def in_order(self, seconds: float) -> Times:
        """The times within [0, seconds], each word after the one before it."""
        at, words = 0.0, []
        for word in self.words:
            start = min(max(word.start_seconds, at), seconds)
            at = min(max(word.end_seconds, start), seconds)
            words.append(replace(word, start_seconds=start, end_seconds=at))
        return replace(self, words=tuple(words))


def find_words(text: str) -> list[tuple[int, int]]:
    """Begin and end of each word."""
    return [match.span() for match in _WORD.finditer(text) if any(map(str.isalnum, match[0]))]


def characters(text: str, words: Sequence[Timed], said: Sequence[float], end_seconds: float) -> list[Timed]:
    """The times of all characters of `text`, by those of its words.

    said: how much is said of `text[:n]`, for every n; shares out the time of a word. What is in no word is
    said at the end of the one before. `end_seconds`: of the audio.
    """
    return list(_characters(text, words, said, end_seconds))


def _characters(
    text: str, words: Sequence[Timed], said: Sequence[float], end_seconds: float
) -> Iterator[Timed]:
    place, at = 0, words[0].start_seconds if words else end_seconds
    for word in words:
        yield from (Timed(each, each + 1, at, at) for each in range(place, word.start))
        begin, whole = said[word.start], said[word.end] - said[word.start]
        seconds = word.end_seconds - word.start_seconds
        length = word.end - word.start
        bounds = [
            word.start_seconds
            + seconds * ((said[each] - begin) / whole if whole else (each - word.start) / length)
            for each in range(word.start, word.end + 1)
        ]
        for each, times in enumerate(pairwise(bounds), word.start):
            yield Timed(each, each + 1, *times)
        place, at = word.end, word.end_seconds
    yield from (Timed(each, each + 1, at, at) for each in range(place, len(text)))


def locate(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Where the parts of a text stand in it, as ranges of characters. Spaces may differ."""
    ranges, position = [], 0
    for piece in pieces:
        start = None
        for character in piece:
            if character.isspace():
                continue
            found = text.find(character, position)
            position = len(text) if found < 0 else found + 1
            start = position - 1 if start is None else start
        ranges.append((position if start is None else min(start, position), position))
    return ranges
