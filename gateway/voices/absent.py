"""Names of no voice that everybody may use, remembered for a moment: many clients name the same ones."""

from __future__ import annotations

import time
from collections.abc import Callable

_SECONDS = 2.0
"""After which a voice that another gateway made is found."""
_MOST_NAMES = 1000


class AbsentNames:
    """What was looked for in vain lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def __contains__(self, name: str) -> bool:
        return self._until.get(name, 0.0) > self._clock()

    def add(self, name: str) -> None:
        """Nobody has it."""
        if len(self._until) >= _MOST_NAMES:
            self._until.clear()
        self._until[name] = self._clock() + _SECONDS

    def clear(self) -> None:
        """A voice was made or renamed here."""
        self._until.clear()
