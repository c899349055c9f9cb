"""What a search in sessions looks at, and how words are compared: in any case, in any form of the letters.

Databases disagree about upper and lower case beyond ASCII, so what they hold is folded already.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_

from gateway.database import Session

MAX_TEXT_CHARACTERS = 100_000
"""Characters of a session that are searched; what was said after them is not found."""


_MOST_AT_ONCE = 500
_PIECE = re.compile(r".{1,N}(?=\s|\Z)|.{1,N}(?=\w)|.{1,N}".replace("N", str(_MOST_AT_ONCE)), re.DOTALL)
"""Accents that follow each other take as many steps as they are, squared, and hold up all threads."""


def folded(text: str) -> str:
    """`text` as it is compared: lower case, one form of each letter, single spaces, nothing unprintable."""
    composed = "".join(unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    line = " ".join(composed.casefold().split())
    return "".join(character for character in line if character.isprintable())


def folded_title(title: str, comment: str, voice: str) -> str:
    """What is searched beside the words: title, comment and voice."""
    return folded(f"{title} {comment} {voice}")


def folded_text(built: dict[str, Any]) -> str:
    """The words of all utterances of a timeline, up to the limit."""
    text = " ".join(utterance["text"] for utterance in built["utterances"])
    return folded(text[:MAX_TEXT_CHARACTERS])[:MAX_TEXT_CHARACTERS]


def has_all(query: str) -> ColumnElement[bool]:
    """Sessions with every word of `query` in their title, comment, voice or words."""
    columns = (Session.search_title, Session.search_text)
    words = dict.fromkeys(folded(query).split())
    return and_(True, *(or_(*(func.strpos(each, word) > 0 for each in columns)) for word in words))
