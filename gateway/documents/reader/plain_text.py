"""Plain text: which characters the bytes are, and where its paragraphs end.

A paragraph ends at a blank line. Where there is none, or where lines are as long as paragraphs are, each line
is one. Lines that were wrapped at a width are joined.
"""

from __future__ import annotations

import re
from statistics import median

from refusal import Refusal
from text import Text

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
)  # fmt: skip
_CHINESE_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_LEAST_CHINESE_SHARE = 0.9
"""Of the bytes beyond ASCII, in pairs of GB 2312."""
_NO_TEXT = re.compile("[\0-\x06\x0e-\x1a\x1c-\x1f]")
_BLANK = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LONG_LINE = 160
"""Characters of a line that nobody wrapped."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
"""Characters that are written without spaces between them."""


def decoded(content: bytes) -> str:
    """The characters of a text file. Raises Refusal for what is none."""
    text = _characters(content).replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    if _NO_TEXT.search(text):
        raise Refusal("document_format")
    return text


def encoding_of(content: bytes) -> str:
    """By its mark, else UTF-8 where it is that, else GB 18030 where it looks Chinese, else cp1252."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    for encoding in ("utf-8", "gb18030"):
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8" or _looks_chinese(content):
            return encoding
    return "cp1252"


def _characters(content: bytes) -> str:
    return content.decode(encoding_of(content), "replace").removeprefix("\ufeff")


def _looks_chinese(content: bytes) -> bool:
    high = len(_HIGH_BYTE.findall(content))
    return 2 * len(_CHINESE_PAIR.findall(content)) >= _LEAST_CHINESE_SHARE * high


def read_text(content: str, text: Text) -> None:
    """Its paragraphs into `text`."""
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
