"""What time it is for what goes by its age: a clock that is set forward makes nothing old at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog

logger = structlog.get_logger(__name__)

_SET_SECONDS = 3600.0
"""A clock that runs as it should gains less between two looks at it."""
_BELIEVED_AFTER_SECONDS = 7 * 24 * 3600.0
"""Time for somebody to set it back."""
_COUNTER = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts while the machine sleeps, and nobody sets it."""


def _counted() -> float:
    return time.clock_gettime(_COUNTER)


class Present:
    """The clock, but for a week without the time that it was set forward while the process ran."""

    def __init__(
        self, clock: Callable[[], float] = time.time, counted: Callable[[], float] = _counted
    ) -> None:
        self._clock, self._counted = clock, counted
        self._offset = clock() - counted()
        self._set_at: float | None = None

    def now(self) -> datetime:
        """By which ages are told."""
        counted = self._counted()
        offset = self._clock() - counted
        ahead = offset - self._offset
        if ahead <= _SET_SECONDS:
            self._offset, self._set_at = offset, None
        elif self._set_at is None:
            self._set_at = counted
            set_forward = str(timedelta(seconds=round(ahead)))
            logger.warning("the clock was set forward: nothing ages by that for a week", by=set_forward)
        elif counted - self._set_at >= _BELIEVED_AFTER_SECONDS:
            self._offset, self._set_at = offset, None
        return datetime.fromtimestamp(counted + self._offset, UTC)
