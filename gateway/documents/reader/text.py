"""What is found in a document: blocks of text in order, and what is said of all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from refusal import Refusal

MAX_BLOCKS = 100_000
MAX_SAID_CHARACTERS = 500
"""Of a title, an author, a chapter's name."""
_GONE = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
"""Control characters, soft hyphens, and what is no character."""


_RAISED = re.compile(r"[-−+]?\d{1,3}")
_NOTES = re.compile(r"\[\d{1,3}\]|[\[(]?\d{1,3}(?: ?[,–-] ?\d{1,3})+[\])]?")
_NOTE = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡§¶])[\])]?")
_BASE = re.compile(r"(?:(?<!\d)\d{1,3}|(?<![^\W\d_])[^\W\d_]{1,2}|\((?:(?![^\W\d_]{3})[^()]){1,40}\))$")
"""What has a power: a short number, a sign for a quantity or unit, or such in brackets."""
_POWERS = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
BASE_CHARACTERS = 42


def raised(before: str, said: str, is_link: bool = False) -> str:
    """What is read of `said`, which stands above the line after `before`: nothing of a note's figure, and a
    power as a sign. All else is text, as in "5th". is_link: whether it leads somewhere.
    """
    figures = said.strip()
    if _NOTES.fullmatch(figures) or (is_link and _NOTE.fullmatch(figures)):
        return ""
    if not _RAISED.fullmatch(figures):
        return said
    return figures.translate(_POWERS) if _BASE.search(before[-BASE_CHARACTERS:]) else ""


@dataclass
class Text:
    """Takes what is found, up to `most_characters`."""

    most_characters: int
    title: str = ""
    author: str = ""
    language: str = ""
    empty_pages: int = 0
    """That are pictures, perhaps of text."""
    encoding: str = ""
    """Of a text file that does not say it, as it was guessed."""
    blocks: list[tuple[str, int, str | None]] = field(default_factory=list)
    """Text, level of a heading (0: a paragraph), and the name of the chapter that begins with it."""
    _characters: int = 0

    def add(self, text: str, level: int = 0, chapter: str | None = None) -> bool:
        """A block, unless it is empty; whether it was one. Raises Refusal for too much text."""
        text = cleaned(text)
        if not text:
            return False
        self._characters += len(text)
        if self._characters > self.most_characters or len(self.blocks) == MAX_BLOCKS:
            raise Refusal("document_too_long")
        name = cleaned(chapter, MAX_SAID_CHARACTERS) if chapter else ""
        self.blocks.append((text, level, name or None))
        return True

    def say(self, title: str | None = "", author: str | None = "", language: str | None = "") -> None:
        """What is known of the document; what was said earlier stays."""
        self.title = self.title or cleaned(title or "", MAX_SAID_CHARACTERS)
        self.author = self.author or cleaned(author or "", MAX_SAID_CHARACTERS)
        self.language = self.language or cleaned(language or "", 35)

    def facts(self, format: str) -> dict[str, object]:
        """What the child says. Raises Refusal where nothing was found."""
        if not self.blocks:
            raise Refusal("document_empty")
        said = {"title": self.title, "author": self.author, "language": self.language}
        said |= {"encoding": self.encoding}
        return {"format": format, **said, "empty_pages": self.empty_pages, "blocks": self.blocks}


def cleaned(text: str, most_characters: int | None = None) -> str:
    """Single spaces, no space around lines, no empty lines, no control characters."""
    lines = (" ".join(line.split()) for line in _GONE.sub("", text).splitlines())
    return "\n".join(line for line in lines if line)[:most_characters]
