"""Which characters a line of words may hold: those that are seen, spaces of any width, and joiners."""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"
"""Persian, Hindi and many emoji are misspelt without them."""


def is_printable(text: str) -> bool:
    """Whether it holds no line breaks, control characters or marks that cannot be seen."""
    return all(map(_is_shown, text))


def printable(text: str) -> str:
    """`text` without them."""
    return "".join(filter(_is_shown, text))


def is_blank(text: str) -> bool:
    """Whether nothing of it is seen."""
    return not seen(text)


def seen(text: str) -> str:
    """One for all texts that look the same: without joiners, however accents and spaces are written."""
    composed = unicodedata.normalize("NFC", text.translate(dict.fromkeys(map(ord, JOINERS))))
    return " ".join(composed.split())


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs"
