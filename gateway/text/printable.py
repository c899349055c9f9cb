"""Which characters a line of words may hold: those that are seen, spaces of any width, and joiners."""

from __future__ import annotations

import re
import unicodedata

JOINERS = "\u200c\u200d"
"""Persian, Hindi and many emoji are misspelt without them."""
_SHOWN_TOO = re.compile(f"[{JOINERS}\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
"""Joiners and spaces of any width, which are not printable to Python."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Unicode calls default ignorable, of what is printable: joiners, fillers, selectors of forms."""
_BLANK_BRAILLE = "\u2800"
"""A space that is none by its category."""
_ALIKE_SCRIPTS = (
    *("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "GEORGIAN", "CANADIAN"),
    *("CARIAN", "DESERET", "ELBASAN", "LYCIAN", "MIAO", "OLD", "OSAGE", "RUNIC", "TIFINAGH", "WARANG"),
)
"""As the names of their letters begin: alphabets with several letters that look like Latin ones."""
_WORD_CATEGORIES = ("L", "M", "N")


def is_printable(text: str) -> bool:
    """Whether it holds no line breaks, control characters or marks that cannot be seen."""
    return text.isprintable() or _SHOWN_TOO.sub("", text).isprintable()


def printable(text: str) -> str:
    """`text` without them."""
    return text if is_printable(text) else "".join(filter(is_printable, text))


def is_blank(text: str) -> bool:
    """Whether nothing of it is seen."""
    return not seen(text)


def seen(text: str) -> str:
    """One for all texts of one script that look the same: without what is not seen, and however accents,
    spaces and letters of several widths and fonts are written.
    """
    shown = _UNSEEN.sub("", text).replace(_BLANK_BRAILLE, " ")
    return " ".join(unicodedata.normalize("NFKC", shown).split())


def mixes_scripts(text: str) -> bool:
    """Whether one word has letters of two alphabets of which many look alike (UTS 39)."""
    scripts: set[str] = set()
    for character in unicodedata.normalize("NFC", _UNSEEN.sub("", text)):
        if unicodedata.category(character)[0] not in _WORD_CATEGORIES:
            scripts.clear()
        elif (script := unicodedata.name(character, "").partition(" ")[0]) in _ALIKE_SCRIPTS:
            scripts.add(script)
            if len(scripts) > 1:
                return True
    return False
