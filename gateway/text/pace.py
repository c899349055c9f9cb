"""How much of a text is said by each of its characters: "$5.20" takes the time of its five words."""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from gateway.text.spoken import Spoken, is_ideogram

_VOWELS = frozenset("aeiouyAEIOUY")
_VOWEL = 1.3
_SYLLABLE = 3.5
"""A character that is a syllable."""
_FIGURE = 4.0
"""Of a model that puts figures into words itself."""


def said_up_to(spoken: Spoken) -> list[float]:
    """How much is said of `spoken.written[:n]`, for every n, in consonants; white space and marks are not.

    What stands for a figure is shared out among its characters.
    """
    said = [0.0] * (len(spoken.written) + 1)
    for character, start, end in zip(spoken.text, spoken.starts, spoken.ends, strict=True):
        if weight := _weight(character):
            for place in range(start, end):
                said[place + 1] += weight / (end - start)
    return list(accumulate(said))


def _weight(character: str) -> float:
    if character in _VOWELS:
        return _VOWEL
    if character.isdigit():
        return _FIGURE
    if is_ideogram(character) or "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7a3":
        return _SYLLABLE
    return float(unicodedata.category(character)[0] in "LNS")
