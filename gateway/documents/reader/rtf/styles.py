"""Which paragraphs of RTF are headings: by the table of styles, and by the level in the outline."""

from __future__ import annotations

from dataclasses import dataclass

from word.styles import level_by_names

_MOST_NAME = 500
_MOST_STYLES = 10
"""That are based on each other."""


@dataclass(slots=True)
class _Style:
    name: str = ""
    outline: int | None = None
    based: int | None = None


class RtfStyles:
    """The styles of one document; the words and names of its table are told in order."""

    def __init__(self) -> None:
        self._styles: dict[int, _Style] = {}
        self._style = _Style()
        """That is described."""

    def begin(self) -> None:
        """An entry of the table, of style 0 where it names no other."""
        self._style = self._styles.setdefault(0, _Style())

    def word(self, name: str, number: int | None) -> None:
        """A control word of the table."""
        if name == "s":
            self._style = self._styles.setdefault(number or 0, _Style())
        elif name in ("cs", "ds", "ts"):
            self._style = _Style()
        elif name == "outlinelevel":
            self._style.outline = number
        elif name == "sbasedon":
            self._style.based = number

    def say(self, said: str) -> None:
        """A piece of a name."""
        if len(self._style.name) < _MOST_NAME:
            self._style.name += said

    def level(self, style: int, outline: int | None) -> int | None:
        """The level of a paragraph with that style. outline: its own level, which counts before the style's.

        0: no heading; None: nothing to be read out.
        """
        names, found = [], self._styles.get(style)
        while found is not None and len(names) < _MOST_STYLES:
            names.append(found.name.strip().rstrip(";").split(",")[0])
            outline = found.outline if outline is None else outline
            found = None if found.based is None else self._styles.get(found.based)
        level = level_by_names(names)
        return level if level is None or outline is None or not 0 <= outline < 9 else min(6, outline + 1)
