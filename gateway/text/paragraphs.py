"""Paragraphs of a plain text: what a blank line parts, and the pause that it gets.

paragraphs("One.\n\nTwo.", 0.7)     # Passage("One."), Passage("Two.", pause=0.7)
"""

from __future__ import annotations

import re

from gateway.text.ssml import Passage
from models.sentences import has_words

LONGEST_PARAGRAPH_PAUSE = 5.0
"""Seconds that somebody may ask for."""
_LINE_END = r"(?:\r\n|\n|\r(?!\n))"
_BLANK = re.compile(rf"{_LINE_END}(?:[^\S\n\r]*{_LINE_END})+|\u2029")
"""A line that holds nothing but white space, or the sign that Unicode has for the end of a paragraph."""


def paragraphs(text: str, pause: float) -> tuple[Passage, ...]:
    """The paragraphs of `text` in order, each but the first after `pause` seconds of silence.

    One without words belongs to the paragraph before it. With `pause` 0 the text is one. A text that is one
    stays as it is.
    """
    if not pause:
        return (Passage(text),)
    starts, said = [0], False
    for start, end in paragraph_ranges(text):
        words = has_words(text[start:end])
        if words and said:
            starts.append(start)
        said = said or words
    if len(starts) == 1:
        return (Passage(text),)
    pieces = (text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return tuple(Passage(piece, pause=pause if number else 0.0) for number, piece in enumerate(pieces))


def paragraph_ranges(text: str) -> list[tuple[int, int]]:
    """Where the paragraphs stand, without the space around them."""
    found, start = [], 0
    for match in (*_BLANK.finditer(text), None):
        piece = text[start : match.start() if match else len(text)]
        if words := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            found.append((first, first + len(words)))
        start = match.end() if match else start
    return found
