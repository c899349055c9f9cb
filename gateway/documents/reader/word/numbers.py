"""The numbers that Word counts itself: of lists, and of headings such as "Chapter 2".

    numbers = Numbers(document)
    numbers.before(paragraph)      # "2. ", "Chapter 2 "; empty where there is none

A paragraph, or its style, names a list (`numId`) and a level in it. Lists of one definition (`abstractNum`)
count on from each other, unless one says where it begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from lxml import etree
from markers import counted
from web_page import parsed_xml

_VALUE, _LEVEL = qn("w:val"), qn("w:ilvl")
_PLACE = re.compile(r"%([1-9])")
_KINDS = {"lowerLetter": "a", "upperLetter": "A"}
"""The others are counted in figures, which say the same."""
_MOST_STYLES = 10
"""That are based on each other."""


@dataclass(frozen=True)
class _Level:
    start: int
    kind: str
    """"1", "a", "A", or "" of one that counts nothing."""
    text: str
    """With "%1" where the number of the first level stands."""
    style: str | None
    restarts_after: int
    """The levels before this one have it begin again; 0: none does."""


@dataclass
class _List:
    levels: dict[int, _Level]
    counts: dict[int, int]
    """Shared with other lists of the definition."""
    begins: dict[int, int]
    """Level -> where this list begins, the first time that it is met."""
    met: set[int] = field(default_factory=set)


class Numbers:
    """Numbers of the paragraphs of one document, which are asked about in order."""

    def __init__(self, document: Document) -> None:
        self._lists: dict[str, _List] = {}
        self._styles = {style.get(qn("w:styleId")): style for style in document.styles.element}
        parts = (
            each.target_part
            for each in document.part.rels.values()
            if each.reltype == RELATIONSHIP_TYPE.NUMBERING and not each.is_external
        )
        part = next(parts, None)
        if part is not None:
            self._read(parsed_xml(part.blob))

    def before(self, paragraph: etree._Element) -> str:
        """Its number with a space behind it; it is counted."""
        found = self._place(paragraph)
        if found is None:
            return ""
        numbered, at = found
        level = numbered.levels[at]
        if at in numbered.begins and at not in numbered.met:
            numbered.counts[at] = numbered.begins[at]
        else:
            numbered.counts[at] = numbered.counts.get(at, level.start - 1) + 1
        numbered.met.add(at)
        for deeper, other in numbered.levels.items():
            if deeper > at and at < other.restarts_after:
                numbered.counts.pop(deeper, None)
        shown = _PLACE.sub(lambda match: _count(numbered, int(match[1]) - 1), level.text).strip()
        return f"{shown} " if any(map(str.isalnum, shown)) else ""

    def _place(self, paragraph: etree._Element) -> tuple[_List, int] | None:
        """The list and level that the paragraph, or else its style, names."""
        own = paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
        style, (listed, at) = paragraph.style, _said(own)
        by_style = listed is None
        for _ in range(_MOST_STYLES):
            element = self._styles.get(style)
            if listed is not None or element is None:
                break
            listed, said = _said(element.find(f"{qn('w:pPr')}/{qn('w:numPr')}"))
            at = said if at is None else at
            if listed is None:
                style = _value(element, "w:basedOn")
        numbered = self._lists.get(listed or "")
        if numbered is None:
            return None
        if by_style:
            at = next((level for level, each in numbered.levels.items() if each.style == style), at)
        return (numbered, at or 0) if (at or 0) in numbered.levels else None

    def _read(self, root: etree._Element) -> None:
        definitions = {
            each.get(qn("w:abstractNumId")): each for each in root.iterchildren(qn("w:abstractNum"))
        }
        linked = {_value(each, "w:styleLink") or "": each for each in definitions.values()}
        linked.pop("", None)
        counts: dict[str | None, dict[int, int]] = {}
        for each in root.iterchildren(qn("w:num")):
            definition = definitions.get(_value(each, "w:abstractNumId"))
            if definition is None:
                continue
            definition = linked.get(_value(definition, "w:numStyleLink") or "", definition)
            levels, begins = _levels(definition), {}
            for change in each.iterchildren(qn("w:lvlOverride")):
                levels |= _levels(change)
                if (start := _value(change, "w:startOverride")) is not None:
                    begins[_number(change.get(_LEVEL), 0)] = _number(start, 1)
            shared = counts.setdefault(definition.get(qn("w:abstractNumId")), {})
            self._lists[each.get(qn("w:numId"))] = _List(levels, shared, begins)


def _levels(element: etree._Element) -> dict[int, _Level]:
    found = {}
    for each in element.iterchildren(qn("w:lvl")):
        at, format = _number(each.get(_LEVEL), 0), _value(each, "w:numFmt") or "decimal"
        text = "" if format == "bullet" else _value(each, "w:lvlText") or ""
        kind = "" if format == "none" else _KINDS.get(format, "1")
        if each.find(qn("w:isLgl")) is not None:
            kind = "1"
        start, restarts = (
            _number(_value(each, name), other) for name, other in (("w:start", 0), ("w:lvlRestart", at))
        )
        found[at] = _Level(start, kind, text, _value(each, "w:pStyle"), restarts)
    return found


def _count(numbered: _List, at: int) -> str:
    level = numbered.levels.get(at)
    if level is None or not level.kind:
        return ""
    return counted(numbered.counts.get(at, level.start), level.kind)


def _said(properties: etree._Element | None) -> tuple[str | None, int | None]:
    """The list and the level that stand in a `numPr`."""
    if properties is None:
        return None, None
    level = _value(properties, "w:ilvl")
    return _value(properties, "w:numId"), None if level is None else _number(level, 0)


def _value(element: etree._Element, name: str) -> str | None:
    found = element.find(qn(name))
    return None if found is None else found.get(_VALUE)


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text, re.ASCII) else otherwise
