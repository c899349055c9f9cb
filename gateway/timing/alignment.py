"""Times of words from a model that has heard the audio, in the words that were written.

The model tells when each spoken word is said. "$5.20" is five spoken words, which give it their time. Where
several written words are one thing that is spoken, "3 pm", they share its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gateway.text import Spoken
from gateway.text.pace import said_up_to
from gateway.timing.words import Timed, Times, find_words

Span = tuple[float, float]
_NEAR_SECONDS = 0.2
"""A pause that is so near to a boundary of words is that boundary."""
_LATE_SECONDS = 0.03
"""By which models see a word begin too late, measured by `benchmarks/word_times.py`."""

_BETWEEN_SECONDS = 0.02
"""Belong to neither of two words that flow into each other."""


@dataclass(frozen=True)
class Heard:
    """What a model heard: seconds between which each spoken word is said, in order."""

    words: list[Span]
    confidence: float
    """From 0 to 1, how well the text fits the audio."""


def pieces(spoken: Spoken) -> list[str]:
    """The spoken words with the white space before them and their marks: together they are the text."""
    ends = [end for _, end in find_words(spoken.text)]
    edges = [0, *ends[:-1], len(spoken.text)]
    return [spoken.text[start:end] for start, end in pairwise(edges)] if ends else []


def aligned(spoken: Spoken, heard: Sequence[Span], spans: Sequence[Span]) -> Times:
    """When the words of `spoken.written` are said. heard: of each of `pieces`. spans: of speech."""
    if not heard:
        return Times("aligned", ())
    said = said_up_to(spoken)
    words: list[Timed] = []
    for written, (start, end) in _groups(spoken, _snapped(heard, spans)):
        begin, whole = said[written[0][0]], said[written[-1][1]] - said[written[0][0]]
        for first, last in written:
            shares = [(said[place] - begin) / whole if whole else 0.0 for place in (first, last)]
            words.append(Timed(first, last, *(start + share * (end - start) for share in shares)))
    return Times("aligned", tuple(words))


def _groups(spoken: Spoken, heard: Sequence[Span]) -> list[tuple[list[tuple[int, int]], Span]]:
    """Written words that are said together, and when."""
    ranges = [spoken.written_range(*place) for place in find_words(spoken.text)]
    found: list[tuple[list[tuple[int, int]], Span]] = []
    first = 0
    until = 0
    for start, end in find_words(spoken.written):
        while first < len(ranges) and ranges[first][1] <= start:
            first += 1
        last = first
        while last < len(ranges) and ranges[last][0] < end:
            last += 1
        shared = found and first < until
        until = max(until, last)
        if shared:
            written, time = found[-1]
            found[-1] = ([*written, (start, end)], (time[0], heard[until - 1][1]))
        elif last > first:
            found.append(([(start, end)], (heard[first][0], heard[last - 1][1])))
        else:
            at = found[-1][1][1] if found else heard[0][0]
            found.append(([(start, end)], (at, at)))
    return found


def _snapped(heard: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """Words that end where a pause begins and begin where it ends."""
    starts = [start - _LATE_SECONDS for start, _ in heard]
    ends = [*(start - _BETWEEN_SECONDS for start in starts[1:]), spans[-1][1]]
    if spans[0][0] < ends[0]:
        starts[0] = spans[0][0]
    for (_, begin), (end, _) in pairwise(spans):
        distance = [max(begin - start, start - end, 0.0) for start in starts[1:]]
        if distance and min(distance) < _NEAR_SECONDS:
            word = distance.index(min(distance))
            ends[word], starts[word + 1] = begin, end
    begin, end = spans[0][0], spans[-1][1]
    return [
        (max(begin, min(start, end)), max(begin, min(until, end)))
        for start, until in zip(starts, ends, strict=True)
    ]
