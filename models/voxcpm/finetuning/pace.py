"""How fast steps follow each other of late, and how much of that time there was a CPU to compute them on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

RECENT_STEPS = 20


class _Moment(NamedTuple):
    at: float
    computed: float


class Pace:
    """How fast the last `RECENT_STEPS` went, validations and samples between them included."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, computed: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock, self._computed = clock, computed
        self._moments = deque([self._now()], RECENT_STEPS + 1)

    def step(self) -> None:
        """One more step was made."""
        self._moments.append(self._now())

    @property
    def seconds_a_step(self) -> float:
        """Seconds that a step took lately; 0 before the first."""
        first, last = self._moments[0], self._moments[-1]
        return (last.at - first.at) / max(1, len(self._moments) - 1)

    @property
    def cpu_share(self) -> float:
        """0 to 1: what of the time the thread computed. It waits for other programs in the rest."""
        first, last = self._moments[0], self._moments[-1]
        passed = last.at - first.at
        return min(1.0, (last.computed - first.computed) / passed) if passed > 0 else 1.0

    def _now(self) -> _Moment:
        return _Moment(self._clock(), self._computed())
