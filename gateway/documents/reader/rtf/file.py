"""RTF: paragraphs in order, headings by the level in the outline or by their styles.

Programs write the numbers of lists beside the paragraphs, so nothing is counted here. Groups that are marked
as ones that old programs may pass over are passed over, but for fields' instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from refusal import Refusal
from rows import said_as_one
from rtf.lists import RtfLists
from rtf.styles import RtfStyles
from rtf.tokens import ENCODINGS, WESTERN, encoding_of_page, encoding_of_set, tokens
from text import BASE_CHARACTERS, Text, raised

BEGINNING = b"{\\rtf"
_BODY, _SILENT, _MARKED, _FONTS, _STYLES = "body", "silent", "marked", "fonts", "styles"
_TITLE, _AUTHOR, _NUMBER, _FIELD, _INFO, _LISTS = "title", "author", "number", "field", "info", "lists"
_MARKED_KINDS = {"fldinst": _FIELD, "listtable": _LISTS, "listoverridetable": _LISTS}
_KINDS = {
    "fonttbl": _FONTS, "stylesheet": _STYLES, "info": _INFO, "title": _TITLE, "author": _AUTHOR,
    "listtext": _NUMBER, "pntext": _NUMBER, **_MARKED_KINDS,
    **dict.fromkeys((
        "colortbl", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf",
        "footnote", "annotation", "pict", "object", "shp", "shpgrp", "do", "txe", "xe", "tc", "rxe",
        "bkmkstart", "bkmkend", "nonesttables", "revtbl", "filetbl",
        "pn", "private",
    ), _SILENT),
}  # fmt: skip
"""What a group holds that begins with the word."""
_SIGNS = {
    "~": "\xa0", "_": "-", "\t": " ", "tab": " ", "line": "\n", "page": "\n", "column": "\n", "lbr": "\n",
    "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ", "bullet": "•",
    "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "zwj": "\u200d", "zwnj": "\u200c",
}  # fmt: skip
_PARAGRAPH_ENDS = frozenset({"par", "sect", "nestcell", "\n", "\r"})
_BULLET = "o"
"""A circle, as Word writes it."""
_RUBY = re.compile(r"\s*EQ\b.*?\\o\s*\\a[cdlr]\s*\(\\s\\up\s*\d+\s*\(.*?\)[,;](.*)\)\s*", re.DOTALL)
"""Characters, and above them how they are read, as Word writes that."""
_PICTURES = range(0xF000, 0xF100)
"""Of fonts of symbols."""
_MOST_RUBY = 500
"""Characters of such a field."""
_DEEPEST = 1_000


@dataclass(slots=True)
class _State:
    """The state of a group, with which the groups in it begin."""

    kind: str = _BODY
    font: int | None = None
    fallback: int = 1
    """How many characters follow one in Unicode, for programs that do not know that."""
    hidden: bool = False
    deleted: bool = False
    raised: bool = False
    style: int = 0
    outline: int | None = None
    in_table: bool = False
    list: int = 0
    level: int = 0

    def copy(self) -> _State:
        """As `dataclasses.replace` makes it, in a third of the time: there are millions of groups."""
        return _State(
            self.kind, self.font, self.fallback, self.hidden, self.deleted, self.raised, self.style,
            self.outline, self.in_table, self.list, self.level,
        )  # fmt: skip


def read_rtf(content: bytes, text: Text) -> None:
    """A document into `text`. Raises Refusal for one that is damaged or too long."""
    _Reader(text).read(content)


def rehearse() -> None:
    """Use every encoding, so that nothing is left to be imported."""
    for encoding in ENCODINGS:
        b"a".decode(encoding)


class _Reader:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._encoding, self._default_font = WESTERN, None
        self._fonts: dict[int | None, str | None] = {}
        self._styles, self._lists = RtfStyles(), RtfLists()
        self._state, self._stack = _State(), list[_State]()
        self._bytes, self._passed_over = bytearray(), 0
        self._said: dict[str, list[str]] = {}
        """By kind, what the paragraph or field says so far, and what is said of the document."""
        self._cells: list[list[tuple[str, int]]] = []
        self._cell: list[tuple[str, int]] = []

    def read(self, content: bytes) -> None:
        for name, number, said in tokens(content):
            if not name:
                self._take(said)
            elif name == "{":
                self._open()
            elif name == "}":
                self._close()
                if not self._stack:
                    break
            else:
                self._passed_over = 0
                self._word(name, number)
        else:
            raise Refusal("document_unreadable")
        if _BODY in self._said:
            self._end_paragraph()
        self._end_row()
        self._text.say(self._taken(_TITLE), self._taken(_AUTHOR))

    def _open(self) -> None:
        self._flush()
        self._passed_over = 0
        if len(self._stack) == _DEEPEST:
            raise Refusal("document_unreadable")
        self._stack.append(self._state)
        if self._state.kind != _SILENT:  # nothing is changed in one that is
            self._state = self._state.copy()
        if self._state.kind == _STYLES != self._stack[-2].kind:
            self._styles.begin()

    def _close(self) -> None:
        self._flush()
        self._passed_over = 0
        before, self._state = self._state, self._stack.pop()
        if before.kind == _FIELD != self._state.kind:
            field = self._taken(_FIELD)
            if len(field) <= _MOST_RUBY and (ruby := _RUBY.fullmatch(field)):
                self._say(ruby[1])

    def _take(self, said: bytes) -> None:
        """Bytes, less those that stand for a character that was there already."""
        passed, self._passed_over = self._passed_over, max(0, self._passed_over - len(said))
        if self._state.kind not in (_SILENT, _MARKED):
            self._bytes += said[passed:]

    def _word(self, name: str, number: int | None) -> None:
        self._flush()
        state = self._state
        if state.kind == _SILENT:
            return
        if state.kind == _MARKED:
            state.kind = self._kind_of_marked(name)
        elif name == "*":
            state.kind = _MARKED
        elif name in _KINDS:
            state.kind = _KINDS[name]
            self._said.pop(state.kind, None)
        elif name == "u" and number is not None:
            self._passed_over = state.fallback
            if (code := number % 0x10000) not in _PICTURES:
                self._say(chr(code))
        elif name in _SIGNS:
            self._say(_SIGNS[name])
        elif state.kind == _BODY and self._ends(name):
            return
        elif state.kind == _FONTS:
            self._font_word(name, number)
        elif state.kind == _STYLES:
            self._styles.word(name, number)
        elif state.kind == _LISTS:
            self._lists.word(name, number)
        else:
            self._format(name, number)

    def _kind_of_marked(self, name: str) -> str:
        around = self._stack[-1].kind
        if name == "ud" and around == _INFO:  # the same in Unicode
            return around
        return _MARKED_KINDS.get(name, _SILENT)

    def _ends(self, name: str) -> bool:
        """Whether the word is the end of a paragraph, cell or row."""
        if name in _PARAGRAPH_ENDS:
            self._end_paragraph()
        elif name == "cell":
            self._cell.append(self._paragraph())
            self._cells.append(self._cell)
            self._cell = []
        elif name == "row":
            self._end_row()
        else:
            return False
        return True

    def _format(self, name: str, number: int | None) -> None:
        """How what follows is written."""
        state, on = self._state, number != 0
        if name == "plain":
            state.hidden = state.deleted = state.raised = False
            state.font = self._default_font
        elif name == "pard":
            state.style, state.outline, state.in_table = 0, None, False
            state.list = state.level = 0
        elif name == "f":
            state.font = number
        elif name == "v":
            state.hidden = on
        elif name in ("deleted", "mvf"):
            state.deleted = on
        elif name in ("super", "up"):
            state.raised = on
        elif name in ("nosupersub", "sub", "dn"):
            state.raised = False
        elif name == "s":
            state.style = number or 0
        elif name == "outlinelevel":
            state.outline = number
        elif name == "ls":
            state.list = number or 0
        elif name == "ilvl":
            state.level = max(0, number or 0)
        elif name in ("intbl", "itap"):
            state.in_table = on
        elif name == "uc":
            state.fallback = max(0, number or 0)
        elif name == "deff":
            state.font = self._default_font = number
        elif name == "ansicpg":
            self._encoding = encoding_of_page(number)
        elif name == "mac":
            self._encoding = encoding_of_page(10_000)
        elif name in ("pc", "pca"):
            self._encoding = encoding_of_page(437 if name == "pc" else 850)

    def _font_word(self, name: str, number: int | None) -> None:
        if name == "f":
            self._state.font = number
        elif name == "fcharset":
            self._fonts[self._state.font] = encoding_of_set(number)
        elif name == "cpg":
            self._fonts[self._state.font] = encoding_of_page(number)

    def _flush(self) -> None:
        """Say the bytes that have come, in the encoding of the font."""
        if self._bytes:
            encoding = self._fonts.get(self._state.font)
            if encoding != "" or self._state.kind not in (_BODY, _NUMBER):
                self._say(self._bytes.decode(encoding or self._encoding, "replace"))
            self._bytes.clear()

    def _say(self, said: str) -> None:
        state = self._state
        if state.kind == _STYLES:
            self._styles.say(said)
        elif state.kind not in (_SILENT, _FONTS, _LISTS) and not (state.hidden or state.deleted):
            pieces = self._said.setdefault(state.kind, [])
            pieces.append(raised("".join(pieces[-BASE_CHARACTERS:]), said) if state.raised else said)

    def _taken(self, kind: str) -> str:
        """What such groups have said; it is forgotten."""
        said = "".join(self._said.pop(kind, []))
        return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _paragraph(self) -> tuple[str, int]:
        """What it says, and the level of a heading."""
        words, number = self._taken(_BODY), self._taken(_NUMBER).strip()
        level = self._styles.level(self._state.style, self._state.outline)
        if level is None or not words.strip():
            return "", 0
        if any(map(str.isalnum, number)) and number != _BULLET:
            number = self._lists.said(number, self._state.list, self._state.level)
            words = f"{number} {words.lstrip()}"
        return words, level

    def _end_paragraph(self) -> None:
        if self._state.in_table:
            self._cell.append(self._paragraph())
        else:
            words, level = self._paragraph()
            self._end_row()
            self._text.add(words, level)

    def _end_row(self) -> None:
        """Its cells as one paragraph, if each of them is one."""
        if all(len(cell) == 1 for cell in self._cells):
            self._text.add(said_as_one(cell[0][0] for cell in self._cells))
            self._cells.clear()
        for words, level in (each for cell in (*self._cells, self._cell) for each in cell):
            self._text.add(words, level)
        self._cells, self._cell = [], []
