"""Ends an answer at a string, of which nobody ever sees a part."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Holds text back for as long as it may be the beginning of one of `stops`."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops, self._held = stops, ""

    def add(self, text: str, may_end: bool = True) -> tuple[str, bool]:
        """What of the text so far is certain now, and whether a stop string has come: the end.

        may_end: False where the answer goes on whatever has come.
        """
        if not self._stops:
            return text, False
        before, held = len(self._held), self._held + text
        # One that ends in what is held came when the answer could not end.
        places = [held.find(stop, max(0, before - len(stop) + 1)) for stop in self._stops]
        found = [at for at in places if may_end and at >= 0]
        if found:
            self._held = ""
            return held[: min(found)], True
        kept = max((_overlap(held, stop) for stop in self._stops), default=0)
        self._held = held[len(held) - kept :]
        return held[: len(held) - kept], False

    def rest(self) -> str:
        """What was held back, at the end of the answer."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The longest end of `text` that `stop` begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if stop.startswith(text[-size:])), 0)
