"""Lines of a page that stand beside each other: two columns of text, or parts of one line.

PDFium tells a line after the other as they were written. Where a page was written row by row, what stands in
the left column has to be read first. Rows of tables stay rows: their cells are short, or of many lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pdf.lines import Line

_LEAST_ROWS, _MOST_ROWS = 4, 300
_LEAST_CHARACTERS = 16
"""Of a line in a column, on average."""
_FULL, _MOSTLY = 0.75, 0.6
"""Of the widest line of a column, and how many lines have to be so wide."""
_APART = 3.0
"""Sizes of the font between two rows of a column, at most."""


def in_columns(lines: Sequence[Line]) -> list[Line]:
    """The lines in the order in which they are read; parts of one line together."""
    ordered: list[Line] = []
    run: list[list[Line]] = []
    for row in _rows(lines):
        if run and (len(run) == _MOST_ROWS or not _goes_on(run, row)):
            ordered += _read(run)
            run = []
        run.append(row)
    return ordered + _read(run)


def _rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    row: list[Line] = []
    for line in lines:
        if row and not line.beside:
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _goes_on(run: list[list[Line]], row: list[Line]) -> bool:
    """Whether a row may stand in the same two columns as those before."""
    before = run[-1][0]
    if not 0 < before.baseline - row[0].baseline <= _APART * max(before.size, row[0].size):
        return False
    return _gutter([*run, row]) is not None


def _gutter(rows: Sequence[Sequence[Line]]) -> float | None:
    """Where no line of the rows is, between two that stand in one of them; None if that is nowhere."""
    if any(len(row) > 2 for row in rows):
        return None
    left = max((row[0].right for row in rows if len(row) == 2), default=0.0)
    right = min((row[1].left for row in rows if len(row) == 2), default=0.0)
    alone = [row[0] for row in rows if len(row) == 1]
    middle = (left + right) / 2
    free = all(line.right <= middle or line.left >= middle for line in alone)
    return middle if left < right and free else None


def _read(run: list[list[Line]]) -> list[Line]:
    """One column, then the other, where the rows are of two; else the rows."""
    middle = _gutter(run)
    if middle is not None and sum(len(row) == 2 for row in run) >= _LEAST_ROWS:
        every = [line for row in run for line in row]
        columns = [[line for line in every if (line.left > middle) is side] for side in (False, True)]
        if all(map(_is_of_text, columns)):
            return [replace(line, beside=False) for column in columns for line in column]
    return [_joined(row) for row in run]


def _is_of_text(column: Sequence[Line]) -> bool:
    """Whether most of its lines are full, as those of a paragraph are."""
    left, right = min(line.left for line in column), max(line.right for line in column)
    full = sum(line.right - left >= _FULL * (right - left) for line in column)
    characters = sum(len(line.text) for line in column)
    return full >= _MOSTLY * len(column) and characters >= _LEAST_CHARACTERS * len(column)


def _joined(row: Sequence[Line]) -> Line:
    return replace(row[0], text=" ".join(line.text for line in row), right=row[-1].right)
