"""SRT and WebVTT: what is said in the cues, without their numbers, times, marks and comments.

A cue goes on with the sentence of the one before where it begins with a small letter. Lines that a cue
repeats of the one before, as live captions do, are said once.
"""

from __future__ import annotations

import html
import re

from plain.plain_text import joined
from text import Text

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d\d[,.]\d{1,3}"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\n]*")
_BEGINNING = re.compile(rf"\ufeff?WEBVTT(?:[ \t\n]|$)|\s*+(?:\d+[ \t]*\n)?{_TIMES.pattern}\n")
_MARK = re.compile(r"<[^<>\n]{0,200}>|\{\\[^{}\n]{0,100}\}")
_SPEAKER = re.compile(r"[-–—][ \t]*(?=\S)")
_ENDS = tuple(".!?…:;。！？：；♪")
_CLOSING = "\"'”’»)」』）]"


def looks_like_subtitles(content: str) -> bool:
    """Whether it begins as such a file does."""
    return _BEGINNING.match(content) is not None


def read_subtitles(content: str, text: Text) -> None:
    """What is said into `text`, a paragraph for each sentence or more."""
    said = ""
    before: set[str] = set()
    for block in re.split(r"\n[^\S\n]*\n", content):
        lines = _lines(block)
        for number, line in enumerate(line for line in lines if line not in before):
            words = _SPEAKER.sub("", line, count=1) if _SPEAKER.match(line) else line
            if words != line or not _goes_on(said, words, number > 0):
                text.add(said)
                said = ""
            said = joined([said, words])
        before = set(lines) or before
    text.add(said)


def _lines(block: str) -> list[str]:
    """The lines of a cue; none of a comment or of rules for colours."""
    lines = block.split("\n")
    times = next((number for number, line in enumerate(lines[:3]) if _TIMES.fullmatch(line)), None)
    if times is None:
        return []
    shown = (html.unescape(_MARK.sub("", line)).strip() for line in lines[times + 1 :])
    return [line for line in shown if line]


def _goes_on(said: str, words: str, is_same_cue: bool) -> bool:
    if said.rstrip(_CLOSING).endswith(_ENDS):
        return False
    return is_same_cue or words[:1].islower() or said.endswith((",", "，", "、", "-"))
