"""A text as it is spoken, with the way back to what was written.

    spoken = Spoken.of("It costs $5.").edited([Edit(9, 11, "five dollars")])
    spoken.text                        # "It costs five dollars."
    spoken.written_range(9, 21)        # (9, 11): "$5"

Every character of the spoken text knows the range of the written text that it stands for. Characters that
were left alone stand for themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import ge, itemgetter

_IDEOGRAM = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class Edit:
    """`text[start:end]` is spoken as `spoken`."""

    start: int
    end: int
    spoken: str
    named: str | None = None
    """The same for a model that cannot spell: letters by their names."""

    def moved(self, characters: int) -> Edit:
        """In a text with so many characters more before it."""
        return replace(self, start=self.start + characters, end=self.end + characters)


@dataclass(frozen=True)
class Spoken:
    """`text` is spoken where `written` was asked for."""

    written: str
    text: str
    starts: tuple[int, ...]
    """Where in `written` begins what a character of `text` stands for."""
    ends: tuple[int, ...]
    """Where it ends."""

    @classmethod
    def of(cls, text: str) -> Spoken:
        """Text that is spoken as it is written."""
        return cls(text, text, tuple(range(len(text))), tuple(range(1, len(text) + 1)))

    @classmethod
    def joined(cls, pieces: Iterable[Spoken]) -> Spoken:
        """One text after the other."""
        written, text, starts, ends = "", [], [], []
        for piece in pieces:
            before = len(written)
            starts += [before + start for start in piece.starts]
            ends += [before + end for end in piece.ends]
            written += piece.written
            text.append(piece.text)
        return cls(written, "".join(text), tuple(starts), tuple(ends))

    def then(self, other: Spoken) -> Spoken:
        """What `other` makes of this spoken text."""
        if any(map(ge, other.starts, other.ends)):  # something that stands for nothing that is written
            places = [self.written_range(*place) for place in zip(other.starts, other.ends, strict=True)]
            starts, ends = zip(*places, strict=True)
        else:
            starts = tuple(map(self.starts.__getitem__, other.starts))
            ends = tuple([self.ends[end - 1] for end in other.ends])
        return Spoken(self.written, other.text, starts, ends)

    def edited(self, edits: Iterable[Edit]) -> Spoken:
        """With `edits` made to the spoken text; they are in order and do not overlap."""
        text: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for edit in edits:
            first, last = self.written_range(edit.start, edit.end)
            spoken = self._apart(edit, "".join(text[-1:]) if at == edit.start else "")
            text += (self.text[at : edit.start], spoken)
            starts += (*self.starts[at : edit.start], *[first] * len(spoken))
            ends += (*self.ends[at : edit.start], *[last] * len(spoken))
            at = edit.end
        text.append(self.text[at:])
        return Spoken(self.written, "".join(text), (*starts, *self.starts[at:]), (*ends, *self.ends[at:]))

    def _apart(self, edit: Edit, before: str) -> str:
        """The words of an edit, apart from other words, "5kg" is "five kilograms", by one space."""
        spoken = edit.spoken
        before = before or self.text[max(edit.start - 1, 0) : edit.start]
        after = self.text[edit.end : edit.end + 1]
        if _touch(before[-1:], spoken[:1]):
            spoken = f" {spoken}"
        elif before[-1:] == spoken[:1] == " ":
            spoken = spoken[1:]
        if _touch(spoken[-1:], after):
            spoken = f"{spoken} "
        elif after == spoken[-1:] == " ":
            spoken = spoken[:-1]
        return spoken

    def written_range(self, start: int, end: int) -> tuple[int, int]:
        """The characters of `written` that `text[start:end]` stands for."""
        if start >= end:
            place = self.to_written(start)
            return place, place
        return self.starts[start], self.ends[end - 1]

    def to_written(self, spoken_characters: int) -> int:
        """How much of `written` has been said after so many characters of `text`, in whole edits."""
        if spoken_characters >= len(self.text):
            return len(self.written)
        return self.starts[max(spoken_characters, 0)]

    def spoken_range(self, start: int, end: int) -> tuple[int, int]:
        """The characters of `text` that stand for something in `written[start:end]`; empty if none does."""
        first, last = bisect_right(self.ends, start), bisect_left(self.starts, end)
        return (first, last) if first < last else (0, 0)


def ranges_within(ranges: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """What of `ranges`, in order and apart, is in a piece of the text, counted from its beginning."""
    begin = bisect_right(ranges, start, key=itemgetter(1))
    inside = ranges[begin : bisect_left(ranges, end, key=itemgetter(0))]
    return [(max(first, start) - start, min(last, end) - start) for first, last in inside]


def _touch(left: str, right: str) -> bool:
    """Whether two characters would run into one word; Chinese needs no space."""
    return all(side.isalnum() and not is_ideogram(side) for side in (left, right))


def is_ideogram(character: str) -> bool:
    """Whether the character is a Chinese one."""
    return _IDEOGRAM.match(character) is not None


def has_ideogram(text: str) -> bool:
    """Whether one of its characters is."""
    return _IDEOGRAM.search(text) is not None
