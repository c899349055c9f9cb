"""Lines of text with their places on pages, as paragraphs and headings: PDF itself knows neither."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from plain_text import joined

_HEADING_SIZE = 1.15
"""Times the size of most text."""
_LONGEST_HEADING = 160
_WIDE_GAP, _INDENT, _SHORT = 1.4, 0.7, 0.85
"""Of a paragraph's end: in usual distances of lines, in sizes of the font, of the widest line."""
_LEAST_REPEATS = 3
"""Pages in a row with a line that belongs to the page, and not to the text."""
_SENTENCE_END = tuple(".!?…:;。！？：；\"'”’»)」』）")
_HYPHENS = ("\u00ad", "\u0002", "\ufffe")
_HYPHENATED = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True)
class Line:
    """`baseline` and `left` in points from the page's lower left corner."""

    text: str
    page: int
    left: float
    right: float
    baseline: float
    size: float


@dataclass(frozen=True)
class Passage:
    """A paragraph, or a heading of a level."""

    text: str
    page: int
    level: int = 0


def passages(pages: Sequence[Sequence[Line]]) -> Iterator[Passage]:
    """The paragraphs of all pages, without page numbers and running heads."""
    sizes = Counter[float]()
    for line in (line for page in pages for line in page):
        sizes[round(line.size, 1)] += len(line.text)
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
                yield _passage(taken, levels)
                taken = []
            taken.append(line)
    if taken:
        yield _passage(taken, levels)


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
    ended = before.text.endswith(_SENTENCE_END)
    if before.page != line.page:
        return ended and (line.left - page.left > _INDENT * line.size or line.text[:1].isupper())
    step = before.baseline - line.baseline
    if page.step and step > _WIDE_GAP * max(page.step, line.size):
        return True
    if step > 0 and line.left - before.left > _INDENT * line.size:
        return True
    return ended and page.is_short(before)


def _passage(lines: list[Line], levels: dict[float, int]) -> Passage:
    text = ""
    for line in lines:
        if text.endswith(_HYPHENS):
            text = text.rstrip("".join(_HYPHENS)) + line.text
        elif _HYPHENATED.search(text) and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            text = joined([text, line.text])
    level = levels.get(round(lines[0].size, 1), 0) if len(text) <= _LONGEST_HEADING else 0
    return Passage(text, lines[0].page, level)


def _without_margins(pages: Sequence[Sequence[Line]], body: float) -> Iterator[list[Line]]:
    """The lines of each page but those at its edges that pages nearby have too, whatever their figures."""
    seen: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, lines in enumerate(pages):
        for edge, line in _edges(lines):
            seen[edge, _pattern(line)].append(number)
    repeated = {key for key, numbers in seen.items() if _in_a_row(numbers)}
    for lines in pages:
        dropped = {
            id(line)
            for edge, line in _edges(lines)
            if (edge, _pattern(line)) in repeated and line.size < _HEADING_SIZE * body
        }
        yield [line for line in lines if id(line) not in dropped]


def _edges(lines: Sequence[Line]) -> list[tuple[int, Line]]:
    """The highest and the lowest line."""
    if len(lines) < 2:
        return []
    return [(0, max(lines, key=lambda line: line.baseline)), (1, min(lines, key=lambda line: line.baseline))]


def _pattern(line: Line) -> str:
    return re.sub(r"\d+|\b[ivxl]+\b", "#", line.text.casefold())


def _in_a_row(pages: list[int]) -> bool:
    """Whether most of them are next to, or one page from, another: left and right pages may differ."""
    near = sum(later - earlier <= 2 for earlier, later in pairwise(pages))
    return near + 1 >= _LEAST_REPEATS and near >= len(pages) // 2
