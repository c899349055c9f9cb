"""Times of words from what is known without listening: the text, how long its audio is and where that pauses.

A word takes the time of its letters. Where the audio pauses, the text most likely does: pauses are matched
with places between words, by how much is said between them and by the marks there, and the words between two
pauses share the time between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from gateway.text import Spoken
from gateway.text.pace import said_up_to
from gateway.timing.words import CLOSING, Timed, Times, find_words

Span = tuple[float, float]
_ENDING = ",.;:!?\u3001\u3002\uff0c\uff1b\uff1a\uff01\uff1f\u2026\u2014"
_LAST_WORD = 1.0
"""Characters more that the last word before a mark takes."""
_WORD_DEVIATION = 0.1
"""Seconds that a word is usually off what its letters say; n words together are the root of n times."""
_NO_MARK = 3.0
_NO_PAUSE = 0.6
_IGNORED_SECONDS = 0.08
"""A pause costs one more for each of these when it is taken for none."""
_MOST_IGNORED = 2
"""Pauses in a row that are taken for none."""
_WINDOW = 40
"""Words around the likeliest place of a pause."""


def estimate(spoken: Spoken, spans: Sequence[Span]) -> Times:
    """When the words of `spoken.written` are said. `spans`: when its audio is not silent, in seconds."""
    ranges = find_words(spoken.written)
    if not ranges:
        return Times("estimated", ())
    lengths = _lengths(spoken, ranges)
    breaks = _breaks(lengths, _marks(spoken.written, ranges), spans)
    words: list[Timed] = []
    edges = [0, *(word for word, _ in breaks), len(ranges)]
    starts = [spans[0][0], *(spans[pause + 1][0] for _, pause in breaks)]
    ends = [*(spans[pause][1] for _, pause in breaks), spans[-1][1]]
    for (first, last), start, end in zip(pairwise(edges), starts, ends, strict=True):
        at = np.concatenate([[0.0], np.cumsum(lengths[first:last])])
        at = (start + (end - start) * at / at[-1]).tolist()
        words += (Timed(*place, *time) for place, time in zip(ranges[first:last], pairwise(at), strict=True))
    return Times("estimated", tuple(words))


def _lengths(spoken: Spoken, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """float64 [words]: how long each is, in characters; never nothing."""
    said = said_up_to(spoken)
    written = spoken.written
    return np.array(
        [max(said[end] - said[start], 0.5) + _LAST_WORD * _ends(written[start:end]) for start, end in ranges]
    )


def _marks(text: str, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """bool [words + 1]: whether there is a mark before each word and behind the last."""
    between = zip([0, *(end for _, end in ranges)], [*(start for start, _ in ranges), len(text)], strict=True)
    marks = [any(character in _ENDING for character in text[end:start]) for end, start in between]
    for index, (start, end) in enumerate(ranges):
        marks[index + 1] |= _ends(text[start:end])
    return np.array(marks)


def _ends(word: str) -> bool:
    return word.rstrip(CLOSING)[-1:] in _ENDING


def _breaks(lengths: np.ndarray, marks: np.ndarray, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Which pauses are where: (words before it, its number), in order. The likeliest way to match them.

    Dynamic programming over the pauses, of which the last is the end of the text. `states[j]` has the words
    before which pause j may stand, and what the best way until there costs; `trails[j]` that way's last step.
    """
    script = _Script(lengths, marks, spans)
    states = [(np.array([0]), np.array([0.0]))]
    trails: list[list[tuple[int, int]]] = [[]]
    for pause in range(len(spans)):
        places = script.places(pause)
        best, trail = np.full(len(places), math.inf), [(0, 0)] * len(places)
        for other in range(max(0, pause - _MOST_IGNORED), pause + 1):
            from_places, from_cost = states[other]
            if not len(places) or not len(from_places):
                continue
            cost = from_cost[None, :] + script.cost(other, from_places, pause, places)
            chosen = cost.argmin(axis=1)
            for place in np.flatnonzero(cost.min(axis=1) < best).tolist():
                best[place], trail[place] = cost[place, chosen[place]], (other, int(chosen[place]))
        states.append((places, best))
        trails.append(trail)
    if not math.isfinite(states[-1][1][0]):
        return []
    return _way_back([places for places, _ in states], trails)


def _way_back(places: list[np.ndarray], trails: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """From the end of the text, which is the last state."""
    found: list[tuple[int, int]] = []
    state, place = trails[-1][0]
    while state:
        found.append((int(places[state][place]), state - 1))
        state, place = trails[state][place]
    return found[::-1]


class _Script:
    """What the text lets one expect of the audio, and how far the audio is from it."""

    def __init__(self, lengths: np.ndarray, marks: np.ndarray, spans: Sequence[Span]) -> None:
        self._count = len(lengths)
        self._last = len(spans) - 1
        self._heard = np.array([0.0, *accumulate(end - start for start, end in spans)])
        """Seconds of speech before each pause; silent ones too:"""
        self._silent = [0.0, *accumulate(second[0] - first[1] for first, second in pairwise(spans))]
        said = np.concatenate([[0.0], np.cumsum(lengths)])
        self._said = said * self._heard[-1] / said[-1]
        """Seconds of speech expected before each word."""
        self._marks = marks
        self._marked = np.concatenate([[0], np.cumsum(marks[1:])])
        """Marks before each word."""

    def places(self, pause: int) -> np.ndarray:
        """Words before which a pause may stand; behind the last one for the end."""
        if pause == self._last:
            return np.array([self._count])
        middle = int(np.searchsorted(self._said, self._heard[pause + 1]))
        return np.arange(max(1, middle - _WINDOW), min(self._count, middle + _WINDOW + 1))

    def cost(self, other: int, from_places: np.ndarray, pause: int, places: np.ndarray) -> np.ndarray:
        """float [places, from_places]: of a pause before each of `places`, after that of state `other` before
        each of `from_places`. Minus logarithms of likelihoods.
        """
        words = places[:, None] - from_places[None, :]
        several = np.maximum(words, 1)
        expected = self._said[places][:, None] - self._said[from_places][None, :]
        off = self._heard[pause + 1] - self._heard[other] - expected
        marked = self._marked[places - 1][:, None] - self._marked[from_places][None, :]
        cost = off**2 / (2 * several * _WORD_DEVIATION**2) + np.log(several) / 2
        cost += _NO_PAUSE * np.maximum(marked, 0)
        cost += (self._silent[pause] - self._silent[other]) / _IGNORED_SECONDS
        if pause < self._last:
            cost += _NO_MARK * ~self._marks[places][:, None]
        return np.where(words > 0, cost, math.inf)
