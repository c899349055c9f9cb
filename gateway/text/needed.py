"""Which characters a text must have for a pattern to match in it: most of many patterns need not be tried.

needed = Needed([re.compile(r"\\d+%"), re.compile("(?:Dr|Mr)\\.")])
list(needed.may_match("It is 5%."))          # [0]: there is neither a D nor an M
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from re import _constants as kinds
from re import _parser as parser
from typing import Any

_COMMONNESS = "QXZJ~^_|{}\\<>*&#@$=+%;!?:/()\"'KVUGYWqRLDNzOHFPjBECMISTAx-0123456789,.kvbpygfwmculdrhsnioate "
"""Characters, rarest first; what is not among them is rarer still."""
_REMEMBERED = 8192
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)


class Needed:
    """What patterns need. All their needs are numbered; a set of them is a number with a bit for each."""

    def __init__(self, patterns: Iterable[re.Pattern[str]]) -> None:
        numbers: dict[re.Pattern[str], int] = {}
        self._of_patterns = [
            sum({1 << numbers.setdefault(_any_of(*need), len(numbers)) for need in needs_of(pattern)})
            for pattern in patterns
        ]
        self._needs = tuple(numbers)
        self._of_characters: dict[str, int] = {}

    def may_match(self, text: str) -> Iterator[int]:
        """Indices of the patterns whose needs a text meets, in their order."""
        met = 0
        for character in set(text):
            met |= self._met_by(character)
        missing = ~met
        for index, needs in enumerate(self._of_patterns):
            if not needs & missing:
                yield index

    def _met_by(self, character: str) -> int:
        found = self._of_characters.get(character)
        if found is None:
            if len(self._of_characters) >= _REMEMBERED:
                self._of_characters.clear()
            found = sum(1 << number for number, need in enumerate(self._needs) if need.match(character))
            self._of_characters[character] = found
        return found


def needs_of(pattern: re.Pattern[str]) -> set[tuple[str, int]]:
    """Sets of characters and their flags: a text in which the pattern matches has one of each set."""
    flags = pattern.flags & (re.IGNORECASE | re.ASCII)
    return {(need, flags) for need in _needs(parser.parse(pattern.pattern, pattern.flags))}


def _needs(parsed: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    """What may be within the brackets of a set; pieces that are not known here need nothing."""
    for kind, value in parsed:
        if kind is kinds.LITERAL:
            yield _escaped(value)
        elif kind is kinds.IN:
            yield from _set(value)
        elif kind is kinds.BRANCH:
            yield from _alternative(value[1])
        elif kind is kinds.SUBPATTERN and not value[1] and not value[2]:
            yield from _needs(value[3])
        elif kind in _REPEATS and value[0]:
            yield from _needs(value[2])
        elif kind is kinds.ASSERT:
            yield from _needs(value[1])


def _set(items: Sequence[tuple[Any, Any]]) -> Iterator[str]:
    """Nothing of one that every text has a character of, as "[^a]" and "\\w"."""
    pieces = []
    for kind, value in items:
        if kind is kinds.LITERAL:
            pieces.append(_escaped(value))
        elif kind is kinds.RANGE:
            pieces.append("-".join(map(_escaped, value)))
        elif kind is kinds.CATEGORY and value is kinds.CATEGORY_DIGIT:
            pieces.append(r"\d")
        else:
            return
    yield "".join(pieces)


def _alternative(branches: Iterable[Iterable[tuple[Any, Any]]]) -> Iterator[str]:
    """The rarest need of each branch, one of which is met."""
    needs = [min(_needs(branch), key=_commonness, default=None) for branch in branches]
    if None not in needs:
        yield "".join(dict.fromkeys(filter(None, needs)))


def _escaped(character: int) -> str:
    return re.escape(chr(character))


@cache
def _any_of(need: str, flags: int) -> re.Pattern[str]:
    return re.compile(f"[{need}]", flags)


@cache
def _commonness(need: str) -> int:
    return sum(place for place, sign in enumerate(_COMMONNESS) if _any_of(need, 0).match(sign))
