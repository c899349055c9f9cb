"""Silences within the text of a dialogue, in the order in which they are heard."""

from __future__ import annotations

from collections import deque

from gateway.text.ssml import MOST_PAUSE_SECONDS

_MOST = 1000
"""That wait."""


class Silences:
    """Those of one dialogue.

    Attributes:
        heard: how many were.
    """

    def __init__(self) -> None:
        self.heard = 0
        self._waiting: deque[float] = deque()
        """In seconds."""
        self._seconds = 0.0
        """All of those together."""

    @property
    def count(self) -> int:
        """All there were, but for those that were cleared."""
        return self.heard + len(self._waiting)

    def add(self, seconds: float) -> bool:
        """One more; False where it is left out, since as many wait as a clip may have of them."""
        kept = 0 < seconds <= MOST_PAUSE_SECONDS - self._seconds and len(self._waiting) < _MOST
        if kept:
            self._waiting.append(seconds)
            self._seconds += seconds
        return kept

    def hear(self) -> None:
        """The next one is over."""
        heard = self._waiting.popleft()
        self._seconds = self._seconds - heard if self._waiting else 0.0
        self.heard += 1

    def clear(self) -> None:
        """None of those that wait will be heard."""
        self._waiting.clear()
        self._seconds = 0.0
