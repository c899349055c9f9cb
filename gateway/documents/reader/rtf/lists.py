"""Which levels of lists RTF counts in Roman numbers: they are said in figures, as in other formats."""

from __future__ import annotations

import re
from itertools import pairwise

_ROMAN = {
    1: re.compile(r"(?<![^\W_])[IVXLCDM]{1,15}(?=[\W_]*$)"),
    2: re.compile(r"(?<![^\W_])[ivxlcdm]{1,15}(?=[\W_]*$)"),
}
"""By how a level is counted: the last number that is shown."""
_MOST_LEVELS = 9
_WORTH = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


class RtfLists:
    """The lists of one document; the words of its tables of lists are told in order."""

    def __init__(self) -> None:
        self._levels: list[int] | None = None
        """Of the list that is described: how each is counted; None in the table of those that are used."""
        self._described: dict[int, list[int]] = {}
        self._used: dict[int, list[int]] = {}
        self._id = 0

    def word(self, name: str, number: int | None) -> None:
        """A control word of the tables."""
        if name == "list":
            self._levels = []
        elif name == "listoverride":
            self._levels = None
        elif name == "levelnfc" and self._levels is not None:
            self._levels = [*self._levels[: _MOST_LEVELS - 1], number or 0]
        elif name == "listid":
            self._id = number or 0
            if self._levels is not None:
                self._described[self._id] = self._levels
        elif name == "ls":
            self._used[number or 0] = self._described.get(self._id, [])

    def said(self, shown: str, used: int, level: int) -> str:
        """A number as it is said, of an item of the list `used` at the level."""
        counted = dict(enumerate(self._used.get(used, []))).get(level)
        roman = _ROMAN.get(counted) if counted else None
        return roman.sub(lambda match: str(_value(match[0].lower())), shown) if roman else shown


def _value(roman: str) -> int:
    worths = [_WORTH[letter] for letter in roman]
    return sum(-each if each < after else each for each, after in pairwise([*worths, 0]))
