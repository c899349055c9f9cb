"""The blocks of a document, and which of them begin chapters: those that it names, else its headings, else
paragraphs that look like headings.

in_chapters([Found("One", 1), Found("Text."), Found("Two", 1), Found("More.")])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.jobs.chapters import MOST_CHAPTERS, MOST_TITLE_CHARACTERS, find_chapters, title_line


@dataclass(frozen=True)
class Found:
    """A paragraph, or a heading of a level from 1 to 6; `chapter`: the name of the one that begins here."""

    text: str
    heading: int = 0
    chapter: str | None = None


@dataclass(frozen=True)
class Block:
    """What is spoken: the heading that a chapter begins with, or a paragraph."""

    kind: Literal["chapter", "paragraph"]
    text: str


def in_chapters(found: Sequence[Found], *, have_titles: bool = True) -> list[Block]:
    """All of it in order. Headings that follow a chapter's at once belong to it: "Part One" and "1".

    have_titles: whether short paragraphs may be titles; those of subtitles are none.
    """
    return list(_merged(_marked(found, _starts(found) if have_titles else {})))


def title_of(found: Sequence[Found], blocks: Sequence[Block]) -> str:
    """The heading that a document begins with and that is not a chapter's, or the only one's; maybe empty."""
    if not found[0].heading:
        return ""
    chapters = sum(block.kind == "chapter" for block in blocks)
    return title_line(found[0].text) if blocks[0].kind == "paragraph" or chapters == 1 else ""


def _marked(found: Sequence[Found], starts: dict[int, str]) -> Iterator[tuple[Block, bool]]:
    """Each with whether it is a heading; a chapter's name that does not stand in the text comes before it."""
    for number, each in enumerate(found):
        title = starts.get(number)
        begins = title is not None and (each.heading > 0 or _letters(title) == _letters(each.text))
        if title and not begins:
            yield Block("chapter", title_line(title)), True
        if begins and len(each.text) <= MOST_TITLE_CHARACTERS:
            yield Block("chapter", each.text), True
        else:
            yield Block("paragraph", each.text), each.heading > 0


def _merged(marked: Iterator[tuple[Block, bool]]) -> Iterator[Block]:
    waiting: Block | None = None
    for block, heading in marked:
        if waiting is not None and heading and len(waiting.text) + len(block.text) < MOST_TITLE_CHARACTERS:
            if _letters(block.text) != _letters(waiting.text):
                waiting = Block("chapter", f"{waiting.text}\n{block.text}")
            continue
        if waiting is not None:
            yield waiting
        waiting = block if block.kind == "chapter" else None
        if waiting is None:
            yield block
    if waiting is not None:
        yield waiting


def _starts(found: Sequence[Found]) -> dict[int, str]:
    """Number of a block -> the title of the chapter that begins with it, at most so many."""
    named = {number: each.chapter for number, each in enumerate(found) if each.chapter}
    starts = named or _at_headings(found) or _in_text(found)
    return dict(list(starts.items())[:MOST_CHAPTERS])


def _at_headings(found: Sequence[Found]) -> dict[int, str]:
    """At those of the highest level that occurs more than once, and of levels above it but for a title's."""
    levels = Counter(each.heading for each in found if each.heading)
    if not levels:
        return {}
    level = min((level for level, count in levels.items() if count > 1), default=min(levels))
    starts = {number: each.text for number, each in enumerate(found) if 0 < each.heading <= level}
    if 0 in starts and found[0].heading < level and levels[found[0].heading] == 1:
        del starts[0]
    return starts


def _in_text(found: Sequence[Found]) -> dict[int, str]:
    """At paragraphs that look like headings."""
    at, start = {}, 0
    for number, each in enumerate(found):
        at[start] = number
        start += len(each.text) + 2
    chapters = find_chapters("\n\n".join(each.text for each in found))
    return {at[chapter.start]: chapter.title for chapter in chapters if chapter.start in at}


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
