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


@dataclass
class Text:
    """Takes what is found, up to `most_characters`."""

    most_characters: int
    title: str = ""
    author: str = ""
    language: str = ""
    empty_pages: int = 0
    """That are pictures, perhaps of text."""
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
        return {"format": format, **said, "empty_pages": self.empty_pages, "blocks": self.blocks}


def cleaned(text: str, most_characters: int | None = None) -> str:
    """Single spaces, no space around lines, no empty lines, no control characters."""
    lines = (" ".join(line.split()) for line in _GONE.sub("", text).splitlines())
    return "\n".join(line for line in lines if line)[:most_characters]
