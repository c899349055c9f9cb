"""Time by which others are found to be late: only what passed while this process ran itself.

After SIGSTOP, Ctrl-Z or `docker pause`, whoever was stopped as well has had no chance to do anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_SECONDS = 5.0
"""Between two looks of somebody who runs, however busy the machine is."""


class OwnTime:
    """A stopwatch to look at about once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()

    def look(self) -> float:
        """Seconds since the last look, of a longer pause `MOST_SECONDS`."""
        before, self._looked_at = self._looked_at, self._clock()
        return min(self._looked_at - before, MOST_SECONDS)
