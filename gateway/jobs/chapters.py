"""Where the chapters of a text begin: at its headings, or at lines that stand alone like titles.

find_chapters("# One\n\nText.\n\n# Two\n\nMore.")    # Chapter("One", 0), Chapter("Two", 14)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.audio.chapters import ChapterMark
from gateway.text.paragraphs import paragraph_ranges
from gateway.text.printable import printable
from models.sentences import has_words

MOST_CHAPTERS = 500
MOST_TITLE_CHARACTERS = 200
_MARKDOWN = re.compile(r"^#{1,3}[ \t]+([^\n]+)$", re.MULTILINE)
_NAMED = re.compile(
    r"(?:chapter|part|book|prologue|epilogue|preface|foreword|introduction|appendix|afterword)\b[^\n]{0,80}"
    r"|第[0-9〇零一二三四五六七八九十百千两]{1,9}[章回节卷部篇][^\n]{0,40}",
    re.IGNORECASE,
)
_LONGEST_TITLE = 60
_SENTENCE_END = tuple(".,;:!?…。，；：！？\"'”’)-")


@dataclass(frozen=True)
class Chapter:
    """`start`: its first character in the text."""

    title: str
    start: int


def find_chapters(text: str) -> list[Chapter]:
    """The chapters of a text; none where it has no headings.

    Markdown's headings, else paragraphs that name a chapter, else short paragraphs of one line that end
    without a sign. What stands before the first has no chapter.
    """
    found = [
        Chapter(match[1].rstrip(" \t#"), match.start())
        for match in _MARKDOWN.finditer(text)
        if has_words(match[1])
    ]
    found = found or _headings(text, lambda line: _NAMED.fullmatch(line) is not None)
    found = found or _headings(text, _is_title)
    return [Chapter(title_line(chapter.title), chapter.start) for chapter in found[:MOST_CHAPTERS]]


def _headings(text: str, is_heading: Callable[[str], bool]) -> list[Chapter]:
    """Paragraphs of one line that another kind of paragraph follows."""
    ranges = paragraph_ranges(text)
    lines = [text[start:end] for start, end in ranges]
    marks = ["\n" not in line and is_heading(line) for line in lines]
    last = len(lines) - 1
    return [
        Chapter(line, start)
        for number, (line, (start, _)) in enumerate(zip(lines, ranges, strict=True))
        if marks[number] and number < last and not marks[number + 1]
    ]


def _is_title(line: str) -> bool:
    return len(line) <= _LONGEST_TITLE and has_words(line) and not line.endswith(_SENTENCE_END)


def title_line(title: str) -> str:
    """A title as it is shown."""
    return printable(" ".join(title.split()))[:MOST_TITLE_CHARACTERS]


@dataclass(frozen=True)
class SpokenPart:
    """Characters [start, end) of the text and the samples of its audio."""

    start: int
    end: int
    samples: int


def mark_chapters(
    chapters: Sequence[Chapter], parts: Sequence[SpokenPart], sample_rate: int
) -> list[ChapterMark]:
    """When the chapters are heard, as far as they were spoken.

    A chapter begins with a part, as paragraphs do; within a part its place is estimated by its characters.
    """
    total = sum(part.samples for part in parts)
    starts, before, waiting = [], 0, list(chapters)
    for part in parts:
        while waiting and waiting[0].start < part.end:
            share = max(0, waiting[0].start - part.start) / max(1, part.end - part.start)
            starts.append((waiting.pop(0).title, before + int(share * part.samples)))
        before += part.samples
    ends = [start for _, start in starts[1:]] + [total]
    return [
        ChapterMark(title, start / sample_rate, end / sample_rate)
        for (title, start), end in zip(starts, ends, strict=False)  # which may be one more
    ]
