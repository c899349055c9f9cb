"""Files that say when words were said, SRT, WebVTT, JSON: a piece at a time, for a book has many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from gateway.timing.subtitles import Cue, timed_fields
from gateway.timing.words import Granularity


class Told(Protocol):
    """A text that was spoken. Each of its iterators begins anew."""

    @property
    def source(self) -> str:
        """Where the times come from: `aligned`, `estimated` or `mixed`."""

    @property
    def granularity(self) -> Granularity:
        """What the times are of: `word` or `character`."""

    def texts(self) -> Iterator[str]:
        """The text, in pieces."""

    def timed(self) -> Iterator[dict[str, Any]]:
        """Words or characters, as `timed_fields` tells them."""

    def cues(self) -> Iterator[Cue]:
        """Cues of subtitles."""


def srt(found: Iterable[Cue]) -> Iterator[str]:
    """A SubRip file."""
    for number, cue in enumerate(found, 1):
        times = f"{_clock(cue.start_seconds, ',')} --> {_clock(cue.end_seconds, ',')}"
        yield f"{'' if number == 1 else chr(10)}{number}\n{times}\n{cue.text}\n"


def vtt(found: Iterable[Cue]) -> Iterator[str]:
    """A WebVTT file."""
    yield "WEBVTT\n"
    for cue in found:
        times = f"{_clock(cue.start_seconds, '.')} --> {_clock(cue.end_seconds, '.')}"
        yield f"\n{times}\n{_escaped(cue.text)}\n"


def as_json(told: Told) -> Iterator[str]:
    """An object with `source`, `text`, `words` or `characters`, and `cues`."""
    yield f'{{"source": {json.dumps(told.source)}, "text": "'
    for text in told.texts():
        yield _json(text)[1:-1]
    yield '", '
    yield from _list(f"{told.granularity}s", told.timed())
    yield ", "
    yield from _list("cues", (timed_fields(cue, cue.text) for cue in told.cues()))
    yield "}"


def _list(name: str, items: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield f'"{name}": ['
    for number, item in enumerate(items):
        yield f"{', ' if number else ''}{_json(item)}"
    yield "]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(text: str) -> str:
    """Text in which nothing is markup to WebVTT."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clock(seconds: float, point: str) -> str:
    milliseconds = round(1000 * seconds)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    whole, thousandths = divmod(milliseconds, 1000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{whole:02d}{point}{thousandths:03d}"


FORMATS: dict[str, tuple[str, Callable[[Told], Iterator[str]]]] = {
    "srt": ("application/x-subrip", lambda told: srt(told.cues())),
    "vtt": ("text/vtt", lambda told: vtt(told.cues())),
    "json": ("application/json", as_json),
}
"""Media type, and how a file is written."""
