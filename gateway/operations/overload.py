"""Overload as an operator wants to read of it: when it began, when it ended, how many were refused.

Refusals that come within ten seconds of each other are one overload. The end is noticed when nothing was
refused for that long.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from gateway.operations.event_log import EventLog
from gateway.slots.line.positions import CallLater, call_later

QUIET_SECONDS = 10.0
REFUSALS = frozenset({"queue_full", "wait_too_long", "queue_timeout"})
"""Outcomes of requests that came to nothing because there was too little of everything."""


class OverloadWatch:
    """Hears the outcome of every request."""

    def __init__(
        self,
        log: EventLog,
        clock: Callable[[], float] = time.monotonic,
        call_later: CallLater = call_later,
    ) -> None:
        self._log = log
        self._clock = clock
        self._call_later = call_later
        self._refused: Counter[str] = Counter()
        self._began_at = 0.0
        self._last_at = 0.0

    def note(self, outcome: str) -> None:
        """A request ended with `outcome`."""
        if outcome not in REFUSALS:
            return
        self._last_at = self._clock()
        if not self._refused:
            self._began_at = self._last_at
            self._log.say("overload", "", "refusing", outcome=outcome)
            self._call_later(QUIET_SECONDS, self._look)
        self._refused[outcome] += 1

    def _look(self) -> None:
        quiet_seconds = self._clock() - self._last_at
        if quiet_seconds < QUIET_SECONDS:
            self._call_later(QUIET_SECONDS - quiet_seconds, self._look)
            return
        counts = ", ".join(f"{count} x {outcome}" for outcome, count in sorted(self._refused.items()))
        seconds = self._last_at - self._began_at
        self._log.say("overload_ended", "", "refused", counts=counts, seconds=round(seconds))
        self._refused.clear()
