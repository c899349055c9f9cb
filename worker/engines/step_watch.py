"""How long an engine has been in a step."""

from __future__ import annotations

import time
from collections.abc import Callable

from engine.loop import EngineLoop
from sockets.own_time import OwnTime


class StepWatch:
    """By the time in which this process ran. Somebody has to look about once a second."""

    def __init__(self, loop: EngineLoop, clock: Callable[[], float] = time.monotonic) -> None:
        self._loop, self._time = loop, OwnTime(clock)
        self._step, self._seconds = loop.step_count, 0.0

    def look(self) -> float:
        """Seconds that the step has taken which is under way; 0 between steps."""
        passed = self._time.look()
        if self._step != self._loop.step_count:
            self._step, self._seconds = self._loop.step_count, 0.0
        self._seconds = min(self._seconds + passed, self._loop.step_seconds)
        return self._seconds
