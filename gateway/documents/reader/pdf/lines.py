"""Lines of text with their places on pages, as paragraphs and headings: PDF itself knows neither."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from plain.plain_text import joined

_HEADING_SIZE = 1.15
"""Times the size of most text."""
_LONGEST_HEADING = 160
_WIDE_GAP, _INDENT, _SHORT = 1.4, 0.7, 0.85
"""Of a paragraph's end: in usual distances of lines, in sizes of the font, of the widest line."""
_LEAST_REPEATS = 3
"""Pages in a row with a line that belongs to the page, and not to the text."""
_MOST_MARGIN_LINES = 3
"""Of a head or foot."""
_RANGE = re.compile(r"\d[-–]$")
_MARGIN_STEP = 2.0
"""Sizes of the font between two lines of a head or foot, at most."""
_PAGE_NUMBER = re.compile(r"\W*(?:page |p\. ?|第 ?)?#(?: ?(?:of|/) ?#)?(?: ?页)?\W*")
"""As `_pattern` has it, with or without how many there are."""
_SENTENCE_END = tuple(".!?…:;。！？：；\"'”’»)」』）")
LINE_HYPHENS = ("\u0002", "\ufffe")
"""What PDFium says for a hyphen at the end of a line."""
_SOFT_HYPHEN = "\u00ad"
_HYPHENATED = re.compile(r"[^\W\d_]{2}-$")
"""A word's first part; "X-" and "1914-" are none."""
_WORD = r"[^\W\d_]{1,40}(?:-[^\W\d_]{1,40}){0,4}"
_SMALL_WORD = 3
"""Characters of what stands within a compound: "state-of-the-art"."""
_WORDS, _LAST_WORD = re.compile(_WORD), re.compile(rf"({_WORD})-$")


@dataclass(frozen=True)
class Line:
    """`baseline` and `left` in points from the page's lower left corner."""

    text: str
    page: int
    left: float
    right: float
    baseline: float
    size: float
    beside: bool = False
    """Whether it stands in one row with the line before, far from its end."""


@dataclass(frozen=True)
class Passage:
    """A paragraph, or a heading of a level."""

    text: str
    page: int
    level: int = 0


def passages(pages: Sequence[Sequence[Line]]) -> Iterator[Passage]:
    """The paragraphs of all pages, without page numbers and running heads."""
    sizes = Counter[float]()
    words = set[str]()
    for line in (line for page in pages for line in page):
        sizes[round(line.size, 1)] += len(line.text)
        words.update(_WORDS.findall(line.text.casefold()))
    if not sizes:
        return
    body = sizes.most_common(1)[0][0]
    large = sorted((size for size in sizes if size >= _HEADING_SIZE * body), reverse=True)
    levels = {size: min(number, 6) for number, size in enumerate(large, 1)}
    taken: list[Line] = []
    for lines in _without_margins(pages, body):
        geometry = _Geometry(lines)
        for number, line in enumerate(lines):
            before = lines[number - 1] if number else (taken[-1] if taken else None)
            if taken and before is not None and _parts(before, line, geometry, levels):
                yield _passage(taken, levels, words)
                taken = []
            taken.append(line)
    if taken:
        yield _passage(taken, levels, words)


class _Geometry:
    """What is usual on a page."""

    def __init__(self, lines: Sequence[Line]) -> None:
        steps = [a.baseline - b.baseline for a, b in pairwise(lines)]
        self.step = median([step for step in steps if step > 0] or [0])
        self.left = min((line.left for line in lines), default=0)
        self.right = max((line.right for line in lines), default=0)

    def is_short(self, line: Line) -> bool:
        """Whether a next word would have fit on the line, most likely."""
        return line.right - self.left < _SHORT * (self.right - self.left)


def _parts(before: Line, line: Line, page: _Geometry, levels: dict[float, int]) -> bool:
    """Whether a paragraph ends between two lines."""
    if levels.get(round(before.size, 1)) != levels.get(round(line.size, 1)):
        return True
    if before.text.endswith(LINE_HYPHENS):
        return False
    ended = before.text.endswith(_SENTENCE_END)
    if before.page != line.page:
        return ended and (line.left - page.left > _INDENT * line.size or line.text[:1].isupper())
    step = before.baseline - line.baseline
    if page.step and step > _WIDE_GAP * max(page.step, line.size):
        return True
    if step > 0 and line.left - before.left > _INDENT * line.size:
        return True
    return ended and page.is_short(before)


def _passage(lines: list[Line], levels: dict[float, int], words: set[str]) -> Passage:
    parts = [""]  # a line each, so that a long paragraph takes no square of its length
    for line in lines:
        before = parts[-1]
        ended = before.endswith(LINE_HYPHENS)
        before = f"{before[:-1]}-" if ended else before
        if before.endswith(_SOFT_HYPHEN) or (_HYPHENATED.search(before) and line.text[:1].islower()):
            before = before if _is_compound(before, line.text, words) else before[:-1]
            parts[-1:] = before, line.text
        elif ended or (_RANGE.search(before) and line.text[:1].isdecimal()):
            parts[-1:] = before, line.text
        else:
            parts.append(joined([before[-1:], line.text])[len(before[-1:]) :])
    text = "".join(parts)
    level = levels.get(round(lines[0].size, 1), 0) if len(text) <= _LONGEST_HEADING else 0
    return Passage(text, lines[0].page, level)


def _is_compound(text: str, next_line: str, words: set[str]) -> bool:
    """Whether the hyphen between two lines is one of the word itself, as those of the document tell."""
    first, last = _LAST_WORD.search(text.casefold()), _WORDS.match(next_line.casefold())
    if first is None or last is None:
        return False
    *_, tail = first[1].split("-")
    if tail != first[1] and len(tail) <= _SMALL_WORD:
        return True
    return f"{first[1]}-{last[0]}" in words and first[1] + last[0] not in words


def _without_margins(pages: Sequence[Sequence[Line]], body: float) -> list[list[Line]]:
    """The lines of each page but those at its edges that pages nearby have too, whatever their figures."""
    left = [list(lines) for lines in pages]
    outer: dict[tuple[int, int], Line] | None = None
    for _ in range(_MOST_MARGIN_LINES):
        outer = _margins([list(_edges(lines, outer)) for lines in left], body)
        dropped = set(map(id, outer.values()))
        left = [[line for line in lines if id(line) not in dropped] for lines in left]
    return left


def _margins(pages: Sequence[Sequence[tuple[int, Line]]], body: float) -> dict[tuple[int, int], Line]:
    """The lines at the edges that are heads, feet or page numbers, by page and edge."""
    seen: dict[tuple[int, str], list[Line]] = defaultdict(list)
    for edge, line in (each for lines in pages for each in lines):
        seen[edge, _pattern(line)].append(line)
    return {
        (line.page, edge): line
        for (edge, pattern), lines in seen.items()
        if _in_a_row(lines) or (_PAGE_NUMBER.fullmatch(pattern) and _count_up(lines))
        for line in lines
        if line.size < _HEADING_SIZE * body
    }


def _edges(lines: Sequence[Line], outer: dict[tuple[int, int], Line] | None) -> Iterator[tuple[int, Line]]:
    """The highest and the lowest line; with `outer`, where that is the next one to what was there."""
    if len(lines) < 2:
        return
    for edge, choose in enumerate((max, min)):
        line = choose(lines, key=lambda line: line.baseline)
        beside = line if outer is None else outer.get((line.page, edge))
        if beside is not None and abs(beside.baseline - line.baseline) <= _MARGIN_STEP * line.size:
            yield edge, line


def _pattern(line: Line) -> str:
    return re.sub(r"\d+|\b[ivxl]+\b", "#", line.text.casefold())


def _in_a_row(lines: Sequence[Line]) -> bool:
    """Whether most of them are next to, or one page from, another: left and right pages may differ."""
    near = sum(later.page - earlier.page <= 2 for earlier, later in pairwise(lines))
    return near + 1 >= _LEAST_REPEATS and near >= len(lines) // 2


def _count_up(lines: Sequence[Line]) -> bool:
    """Whether their figures grow as the pages do: so do page numbers, even of two pages."""
    figures = [(line.page, re.search(r"\d{1,9}", line.text)) for line in lines]
    starts = [int(found[0]) - page if found else None for page, found in figures]
    return len(lines) > 1 and None not in starts and len(set(starts)) == 1
