"""What RTF is written in: groups, control words and bytes; and which code pages the bytes are in.

Names: "{" and "}" of a group, "" of bytes, else that of a control word or sign, as "par" or "~".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?|\\'([0-9A-Fa-f]{2})"
    rb"|\\([^A-Za-z'])|([{}])|([^\\{}\r\n\0]+)|[\r\n\0]+|\\'?",
    re.DOTALL,
)
_ESCAPED = frozenset({b"{", b"}", b"\\"})
WESTERN = "cp1252"
_PAGES = {
    **{page: f"cp{page}" for page in (437, 850, 852, 855, 857, 860, 861, 862, 863, 864, 865, 866, 869, 874)},
    **{page: f"cp{page}" for page in (932, 949, 950, *range(1250, 1259))},
    936: "gb18030",
    1361: "johab",
    10_000: "mac_roman",
    10_007: "mac_cyrillic",
    10_029: "mac_latin2",
    20_866: "koi8_r",
    28_591: "latin-1",
    28_592: "iso8859_2",
    54_936: "gb18030",
    65_001: "utf-8",
}
_CHARACTER_SETS = {
    0: 1252, 77: 10_000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
    177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}  # fmt: skip
"""Of a font -> code page."""
SYMBOLS = 2
"""The set of fonts whose characters are pictures."""
ENCODINGS = frozenset(_PAGES.values())


def tokens(content: bytes) -> Iterator[tuple[str, int | None, bytes]]:
    """The name of each, the number behind it, and its bytes; those of pictures are passed over."""
    at, most = 0, len(content)
    while at < most and (match := _TOKEN.match(content, at)) is not None:
        at = match.end()
        word, number, code, sign, brace, said = match.groups()
        if said is not None:
            yield "", None, said
        elif word is not None:
            value = None if number is None else int(number)
            if word == b"bin":
                at += max(0, value or 0)
            yield word.decode(), value, b""
        elif code is not None:
            yield "", None, bytes.fromhex(code.decode())
        elif brace is not None:
            yield brace.decode(), None, b""
        elif sign in _ESCAPED:
            yield "", None, sign
        elif sign is not None:
            yield sign.decode("latin-1"), None, b""


def encoding_of_page(page: int | None) -> str:
    """The encoding of a Windows code page; that of the west where it is none that is known."""
    return _PAGES.get(page or 0, WESTERN)


def encoding_of_set(character_set: int | None) -> str | None:
    """The encoding of a font's characters; "" where they are pictures, None where it is the document's."""
    if character_set == SYMBOLS:
        return ""
    return _PAGES.get(_CHARACTER_SETS.get(character_set or 0, 0))
