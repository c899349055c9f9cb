"""Names of no voice that a client sees, remembered for a moment: many ask for the same ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

_SECONDS = 2.0
"""After which a voice that another gateway made is found."""
_MOST_NAMES = 1000


class AbsentNames:
    """Names that were looked for in vain lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[Hashable, float] = {}

    def __contains__(self, name: Hashable) -> bool:
        return self._until.get(name, 0.0) > self._clock()

    def add(self, name: Hashable) -> None:
        """Note that there is none of this name."""
        if len(self._until) >= _MOST_NAMES:
            self._until.clear()
        self._until[name] = self._clock() + _SECONDS

    def clear(self) -> None:
        """A voice was made or renamed here."""
        self._until.clear()
