"""The numbers that LibreOffice counts itself: of lists, and of headings by the outline.

numbers = Numbers(roots)
numbers.begin(list); numbers.item(item)
numbers.before(paragraph)      # "2. "; empty where there is none
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree
from markers import counted
from odt.styles import STYLE, TEXT, Styles

_LIST_STYLE, _OUTLINE, _NAME = f"{TEXT}list-style", f"{TEXT}outline-style", f"{STYLE}name"
_COUNTED = (f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style")
_LEVEL, _START, _STYLE = f"{TEXT}level", f"{TEXT}start-value", f"{TEXT}style-name"
_CONTINUES, _CONTINUED = f"{TEXT}continue-numbering", f"{TEXT}continue-list"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_FORMAT = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}num-list-format"
_PLACE = re.compile(r"%(\d{1,2})%")
_HEADING, _HEADING_LEVEL = f"{TEXT}h", f"{TEXT}outline-level"
_LETTERS = frozenset({"a", "A"})
"""The others are counted in figures, which say the same."""


@dataclass(frozen=True)
class _Level:
    start: int
    kind: str
    """"1", "a", "A", or "" of one that counts nothing."""
    text: str
    """With "%1%" where the number of the first level stands."""


_Levels = dict[int, _Level]


@dataclass
class _List:
    style: str | None
    counts: dict[int, int]
    """Shared by the lists that are in one another, and by those that go on."""
    waits: bool = False
    """Whether an item has begun whose number nobody has said."""


@dataclass
class Numbers:
    """Numbers of the lists and headings of one document, which are told in order."""

    roots: Sequence[etree._Element]
    styles: Styles
    _levels: dict[str | None, _Levels] = field(default_factory=dict)
    _outline: _Levels = field(default_factory=dict)
    _headings: dict[int, int] = field(default_factory=dict)
    _open: list[_List] = field(default_factory=list)
    _ended: dict[str | None, dict[int, int]] = field(default_factory=dict)
    """The counts of lists by their ids, and of the last one of each style."""

    def __post_init__(self) -> None:
        for root in self.roots:
            self._levels |= {each.get(_NAME): _levels(each) for each in root.iter(_LIST_STYLE)}
            for outline in root.iter(_OUTLINE):
                self._outline = _levels(outline)

    def begin(self, element: etree._Element) -> None:
        """A list begins, maybe in an item of another."""
        around = self._open[-1] if self._open else None
        style = element.get(_STYLE) or (around.style if around else None)
        goes_on = element.get(_CONTINUES) == "true"
        if around is not None:
            counts = around.counts
            if not goes_on:
                counts.pop(len(self._open) + 1, None)
        else:
            before = element.get(_CONTINUED) or (f"style {style}" if goes_on else None)
            counts = self._ended.get(before) or {}
        self._open.append(_List(style, counts))
        if around is None:
            self._ended |= {element.get(_ID): counts, f"style {style}": counts}
            self._ended.pop(None, None)

    def end(self) -> None:
        """The list that was begun last is over."""
        self._open.pop()

    def item(self, element: etree._Element) -> None:
        """An item of that list begins."""
        if self._open:
            self._open[-1].waits = True
            if (start := _number(element.get(_START))) is not None:
                self._open[-1].counts[len(self._open)] = start - 1

    def before(self, paragraph: etree._Element) -> str:
        """Its number with a space behind it; it is counted."""
        if self._open:
            return self._before_item(paragraph.get(_STYLE))
        level = _number(paragraph.get(_HEADING_LEVEL)) if paragraph.tag == _HEADING else None
        if level not in self._outline or paragraph.get(f"{TEXT}is-list-header") == "true":
            return ""
        if paragraph.get(f"{TEXT}restart-numbering") == "true":
            start = _number(paragraph.get(_START))
            self._headings[level] = (self._outline[level].start if start is None else start) - 1
        said = _next(self._outline, self._headings, level)
        for deeper in [each for each in self._headings if each > level]:
            del self._headings[deeper]
        return said

    def _before_item(self, style: str | None) -> str:
        around, at = self._open[-1], len(self._open)
        if not around.waits:
            return ""
        around.waits = False
        levels = self._levels.get(around.style or self.styles.list_of(style), {})
        return _next(levels, around.counts, at)


def _next(levels: _Levels, counts: dict[int, int], at: int) -> str:
    if at not in levels:
        return ""
    counts[at] = counts.get(at, levels[at].start - 1) + 1
    shown = _PLACE.sub(lambda match: _count(levels, counts, int(match[1])), levels[at].text).strip()
    return f"{shown} " if levels[at].kind and any(map(str.isalnum, shown)) else ""


def _count(levels: _Levels, counts: dict[int, int], at: int) -> str:
    level = levels.get(at)
    return counted(counts.get(at, level.start), level.kind) if level and level.kind else ""


def _levels(style: etree._Element) -> _Levels:
    found = {}
    for each in style.iterchildren(*_COUNTED):
        at, format = _number(each.get(_LEVEL)) or 1, each.get(f"{STYLE}num-format", "")
        kind = format if format in _LETTERS or not format else "1"
        start = _number(each.get(_START))
        found[at] = _Level(
            1 if start is None else start, kind, each.get(_FORMAT) or _written(each, at, found)
        )
    return found


def _written(element: etree._Element, at: int, above: _Levels) -> str:
    """How the number is shown, with those of the levels above that are shown with it."""
    shown = _number(element.get(f"{TEXT}display-levels")) or 1
    numbers = [f"%{each}%" for each in sorted(above) if at - shown < each < at and above[each].kind]
    return (
        element.get(f"{STYLE}num-prefix", "")
        + ".".join([*numbers, f"%{at}%"])
        + element.get(f"{STYLE}num-suffix", "")
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text, re.ASCII) else None
