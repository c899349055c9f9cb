"""Plain text: its characters, and where its paragraphs end.

A paragraph ends at a blank line. Where there is none, or where lines are as long as paragraphs are, each line
is one. Lines that were wrapped at a width are joined.
"""

from __future__ import annotations

import re
import unicodedata
from statistics import median

from plain.character_sets import GUESSES, WESTERN, encoding_of
from refusal import Refusal
from text import Text

_VIETNAMESE = "cp1258"
"""Has the marks of tones apart from their letters."""
_NO_TEXT = re.compile("[\0-\x06\x0e-\x1a\x1c-\x1f]")
_BLANK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LONG_LINE = 160
"""Characters of a line that nobody wrapped."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
"""Characters that are written without spaces between them."""


def decoded(content: bytes) -> tuple[str, str]:
    """The characters of a text file, and its encoding if that is a guess. Raises Refusal for what is none."""
    encoding = encoding_of(content)
    text = characters(content, encoding or WESTERN)
    if encoding is None:
        raise Refusal("document_encoding")
    return text, encoding if encoding in GUESSES else ""


def characters(content: bytes, encoding: str) -> str:
    """With single ends of lines. Raises Refusal for what has characters that no text has."""
    text = content.decode(encoding, "replace").removeprefix("\ufeff")
    if encoding == _VIETNAMESE:
        text = unicodedata.normalize("NFC", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    if _NO_TEXT.search(text):
        raise Refusal("document_format")
    return text


def read_text(content: str, text: Text) -> None:
    """Read plain text into paragraphs of `text`."""
    pieces = _BLANK.split(content)
    lines = [line for line in content.split("\n") if line.strip()]
    if lines and (len(pieces) < 2 or median(map(len, lines)) > _LONG_LINE):
        pieces = lines
    for piece in pieces:
        text.add(joined(piece.split("\n")))


def joined(lines: list[str]) -> str:
    """Lines that were wrapped as one, without spaces where none are written."""
    whole = ""
    for line in map(str.strip, lines):
        if whole and line:
            apart = not (_WIDE.match(whole[-1]) and _WIDE.match(line[0]))
            whole += " " if apart else ""
        whole += line
    return whole
