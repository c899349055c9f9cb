"""Messages of a stream: chunks of audio, the times of words, the end."""

from __future__ import annotations

import base64
import time
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from gateway.streams.character_times import CharacterTimes, Timed

_MORE, _ALL = 206, 200
"""Status codes of a chunk and of the end."""


@dataclass
class Words:
    """Words that were said, and the seconds at which they begin and end."""

    words: list[str] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)

    def take(self, characters: list[Timed]) -> None:
        """A word is what stands between spaces; of a script without spaces, each character."""
        begun = False
        for timed in characters:
            if timed.character.isspace():
                begun = False
            elif begun and not _is_wide(timed.character):
                self.words[-1] += timed.character
                self.end[-1] = round(timed.end, 3)
            else:
                self.words.append(timed.character)
                self.start.append(round(timed.start, 3))
                self.end.append(round(timed.end, 3))
                begun = not _is_wide(timed.character)


class Messages:
    """What is said of the audio of one context. `step_time`: milliseconds since the chunk before."""

    def __init__(self, context_id: str | None, *, timestamps: bool, speed: float) -> None:
        self._facts = {} if context_id is None else {"context_id": context_id}
        self._times = CharacterTimes(speed) if timestamps else None
        self._characters: list[Timed] = []
        self._at = time.monotonic()

    def part(self, text: str) -> None:
        """The audio that follows is of this text."""
        if self._times is not None:
            self._times.part(text)

    def heard(self, seconds: float) -> None:
        """So much more audio is in the chunk that comes next."""
        if self._times is not None:
            self._characters += self._times.heard(seconds)

    def chunk(self, data: bytes, **facts: Any) -> list[dict[str, Any]]:
        """A chunk, and the words that it completes."""
        before, self._at = self._at, time.monotonic()
        chunk = {
            "type": "chunk",
            "data": base64.b64encode(data).decode(),
            "done": False,
            "status_code": _MORE,
            "step_time": round(1000 * (self._at - before), 3),
        }
        return [self._said(chunk, facts), *self._words(facts)]

    def rest(self, **facts: Any) -> list[dict[str, Any]]:
        """The words that are left when all audio is there."""
        if self._times is not None:
            self._characters += self._times.rest()
        return self._words(facts, last=True)

    def done(self) -> dict[str, Any]:
        """The end."""
        return self._said({"type": "done", "done": True, "status_code": _ALL}, {})

    def flush_done(self, flush_id: int) -> dict[str, Any]:
        """All before a flush is on its way."""
        said = {"type": "flush_done", "done": False, "flush_done": True, "status_code": _MORE}
        return self._said(said, {"flush_id": flush_id})

    def _words(self, facts: dict[str, Any], last: bool = False) -> list[dict[str, Any]]:
        end = len(self._characters)
        while not last and end and not _ends_word(self._characters[end - 1].character):
            end -= 1
        complete, self._characters = self._characters[:end], self._characters[end:]
        found = Words()
        found.take(complete)
        if not found.words:
            return []
        said = {
            "type": "timestamps",
            "done": False,
            "status_code": _MORE,
            "word_timestamps": {"words": found.words, "start": found.start, "end": found.end},
        }
        return [self._said(said, facts)]

    def _said(self, message: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {**message, **facts, **self._facts}


def _ends_word(character: str) -> bool:
    return character.isspace() or _is_wide(character)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF" and character.isalnum()
