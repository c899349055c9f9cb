"""Rows of tables: the cells of one are said as one paragraph, if each of them is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree
from text import Text


@dataclass(frozen=True)
class Tags:
    """The tags of rows, cells and paragraphs in a format."""

    row: str
    cell: str
    paragraphs: tuple[str, ...]


class Rows:
    """Takes the cells of a document's tables, in order."""

    def __init__(self, text: Text, tags: Tags) -> None:
        self._text, self._tags = text, tags
        self._row: etree._Element | None = None
        self._is_one = False
        self._cells: list[str] = []

    def takes(self, paragraph: etree._Element, words: str) -> bool:
        """Whether the paragraph is such a cell."""
        tags = self._tags
        row = next(paragraph.iterancestors(tags.row), None)
        if row is not self._row:
            self.end()
            self._row = row
            self._is_one = row is not None and all(
                sum(True for _ in cell.iter(*tags.paragraphs)) == 1 for cell in row.iter(tags.cell)
            )
        if self._is_one:
            self._cells.append(words)
        return self._is_one

    def end(self) -> None:
        """End the row that was begun, and add it to the text."""
        self._text.add(said_as_one(self._cells))
        self._cells.clear()


def said_as_one(cells: Iterable[str]) -> str:
    """A row, without its empty cells."""
    return ", ".join(filter(None, map(str.strip, cells)))
