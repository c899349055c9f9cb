"""Looks up the words with which a text begins, of thousands, in a time that depends on neither."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection


class Beginnings:
    """Which of some words a text begins with, however many of them begin alike."""

    def __init__(self, words: Collection[str]) -> None:
        self._words = sorted(words)
        self._shorter: list[int] = []
        """Of each of them, which is the longest of the others that it begins with; -1: none."""
        self._lengths: list[int] = []
        """Bits: how long it is, and all the others are that it begins with."""
        for place, word in enumerate(self._words):
            shorter = place - 1
            while shorter >= 0 and not word.startswith(self._words[shorter]):
                shorter = self._shorter[shorter]
            self._shorter.append(shorter)
            self._lengths.append(1 << len(word) | (self._lengths[shorter] if shorter >= 0 else 0))

    def lengths(self, text: str) -> int:
        """Bits: how long the words are that it begins with."""
        place = bisect_right(self._words, text) - 1  # they are what that word begins with, too, or itself
        if place < 0:
            return 0
        if text.startswith(self._words[place]):
            return self._lengths[place]
        if self._shorter[place] < 0:
            return 0
        return self._lengths[place] & ((2 << _shared(text, self._words[place])) - 1)


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[:middle] == other[:middle]:
            least = middle
        else:
            most = middle - 1
    return least
