"""What the styles of an OpenDocument text say: what is hidden or raised, and which paragraphs are headings.

Those of `styles.xml` have names; `content.xml` has more, for what is formatted by hand, based on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lxml import etree

STYLE, TEXT, TABLE = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("style", "text", "table")
)
_STYLE, _PROPERTIES, _NAME = f"{STYLE}style", f"{STYLE}text-properties", f"{STYLE}name"
_FAMILY, _PARENT, _LIST = f"{STYLE}family", f"{STYLE}parent-style-name", f"{STYLE}list-style-name"
_DISPLAY, _POSITION = f"{TEXT}display", f"{STYLE}text-position"
_RAISED = re.compile(r"super\b|(?!0+(?:\.0+)?%)\d")
_CODED = re.compile(r"_([0-9a-f]{1,4})_")
_SILENT = re.compile(r"contents( heading| \d+)|(illustration|table) index.*|header.*|footer.*", re.IGNORECASE)
_MOST_STYLES = 10
"""That are based on each other."""


@dataclass(frozen=True)
class Look:
    """How text looks; None: as the text around it."""

    hidden: bool | None = None
    raised: bool | None = None

    def within(self, other: Look) -> Look:
        """What it is where `other` is around it."""
        hidden = other.hidden if self.hidden is None else self.hidden
        return Look(hidden, other.raised if self.raised is None else self.raised)


class Styles:
    """The styles of one document, whose parts have these roots."""

    def __init__(self, roots: Sequence[etree._Element]) -> None:
        self._styles = {
            (style.get(_FAMILY), style.get(_NAME)): style for root in roots for style in root.iter(_STYLE)
        }
        self._looks: dict[tuple[str, str | None], Look] = {}

    def look(self, family: str, name: str | None) -> Look:
        """The look of a "text" or "paragraph" with the style `name`."""
        key = family, name
        if key not in self._looks:
            look = Look()
            for style in self._based(family, name):
                look = look.within(_look(style))
            self._looks[key] = look
        return self._looks[key]

    def level(self, name: str | None) -> int | None:
        """The level of a paragraph that says none itself: 1 of a title, else 0; None: not read out."""
        for style in self._based("paragraph", name):
            called = _CODED.sub(lambda match: chr(int(match[1], 16)), style.get(_NAME, ""))
            if _SILENT.fullmatch(called):
                return None
            if called == "Title":
                return 1
        return 0

    def list_of(self, name: str | None) -> str | None:
        """The list style that a paragraph's style names."""
        named = (style.get(_LIST) for style in self._based("paragraph", name))
        return next((each for each in named if each is not None), None)

    def _based(self, family: str, name: str | None) -> list[etree._Element]:
        """The style and those that it is based on."""
        found: list[etree._Element] = []
        while len(found) < _MOST_STYLES and (style := self._styles.get((family, name))) is not None:
            found.append(style)
            name = style.get(_PARENT)
        return found


def _look(style: etree._Element) -> Look:
    properties = style.find(_PROPERTIES)
    if properties is None:
        return Look()
    shown, position = properties.get(_DISPLAY), properties.get(_POSITION)
    return Look(
        None if shown is None else shown == "none",
        None if position is None else _RAISED.match(position.strip()) is not None,
    )
