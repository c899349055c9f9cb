"""When each character of a text is spoken, told while its audio comes.

    times = CharacterTimes()
    times.part("Hello. ")
    times.heard(0.16)       # [Timed("H", 0.0, 0.07), Timed("e", 0.07, 0.14)]
    times.rest()            # what is left when the audio is complete

Estimates: how long a part will be is guessed from the pace of those before it, and within a part every
character that is said takes the same time. They are in order, and never lie after the audio that has come.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.text import normalise
from gateway.text.pace import said_up_to

_SAID_PER_SECOND = 12.5
"""Characters of ordinary speech, spaces not counted, before any pace was measured."""


@dataclass(frozen=True)
class Timed:
    """A character and the seconds from the beginning of the audio between which it is said."""

    character: str
    start: float
    end: float


class CharacterTimes:
    """The characters of one stretch of audio, part by part."""

    def __init__(self, speed: float = 1.0) -> None:
        """`speed`: that was asked for."""
        self.seconds = 0.0
        """Of audio that has come."""
        self._pace = _SAID_PER_SECOND * speed
        self._said_before = self._seconds_before = 0.0
        self._text = ""
        self._said: list[float] = [0.0]
        self._next = 0
        self._part_start = 0.0

    def part(self, text: str) -> None:
        """The audio that follows is of this text. What is left of the one before is said at once."""
        self._measure()
        left = self._text[self._next :]
        said = said_up_to(normalise(text))
        self._said = [0.0] * len(left) + said
        self._text, self._next, self._part_start = left + text, 0, self.seconds

    def heard(self, seconds: float) -> list[Timed]:
        """So much more audio has come: the characters that are said by its end."""
        self.seconds += seconds
        return self._up_to(self.seconds)

    def rest(self) -> list[Timed]:
        """All characters that are left: the audio is complete."""
        return self._take(len(self._text))

    def _up_to(self, limit: float) -> list[Timed]:
        end = self._next
        while end < len(self._text) and self._at(end + 1) <= limit:
            end += 1
        return self._take(end)

    def _take(self, end: int) -> list[Timed]:
        found = [
            Timed(
                self._text[place], min(self._at(place), self.seconds), min(self._at(place + 1), self.seconds)
            )
            for place in range(self._next, end)
        ]
        self._next = end
        return found

    def _at(self, place: int) -> float:
        return self._part_start + self._said[place] / self._pace

    def _measure(self) -> None:
        """The pace of all parts that are complete."""
        self._said_before += self._said[-1]
        self._seconds_before += self.seconds - self._part_start
        if self._said_before and self._seconds_before:
            self._pace = self._said_before / self._seconds_before


def spread(text: str, start: float, end: float) -> list[Timed]:
    """The characters of a part whose audio is complete and lies between two points in time."""
    said = said_up_to(normalise(text))
    pace = (end - start) / (said[-1] or 1.0)
    return [
        Timed(character, start + before * pace, start + after * pace)
        for character, before, after in zip(text, said, said[1:], strict=False)
    ]
