"""A bound on how much of the fleet's work may be second tries, whatever goes wrong.

Retries multiply load just when there is least room for it. In any ten seconds, retries may be a fifth of the
requests that began, on top of a floor that pays for the loss of one whole worker: with workers of 20 slots
and 100 requests a second, 20 + 200. Beyond that, a request that would be begun again waits for its turn
instead of adding to the storm, and is told when none comes in time. A clip that goes on from where it stopped
repeats no work: it is charged and never waits.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_SECONDS = 10
MIN_FLOOR = 10


@dataclass
class _Second:
    """What happened within one second of the clock."""

    number: int
    requests: int = 0
    retries: int = 0


class RetryBudget:
    """Shared by all requests of a gateway. `floor` is asked for the retries that are always affordable."""

    def __init__(
        self, ratio: float, floor: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ratio = ratio
        self._floor = floor
        self._clock = clock
        self._seconds: deque[_Second] = deque()

    def add_request(self) -> None:
        """A request began."""
        self._current().requests += 1

    @property
    def left(self) -> int:
        """Retries that are affordable now."""
        self._current()
        requests = sum(second.requests for second in self._seconds)
        retries = sum(second.retries for second in self._seconds)
        return int(max(MIN_FLOOR, self._floor()) + self._ratio * requests) - retries

    def charge(self) -> None:
        """Take one retry, whether there is one or not."""
        self._current().retries += 1

    def spend(self) -> bool:
        """Take one retry; False when there is none."""
        if self.left < 1:
            return False
        self.charge()
        return True

    async def wait_and_spend(self, limit_seconds: float) -> bool:
        """Take one retry as soon as there is one; False when there was none in time."""
        deadline = self._clock() + limit_seconds
        while not self.spend():
            now = self._clock()
            until_next_second = 1.0 - now % 1.0
            if now + until_next_second > deadline:
                return False
            await asyncio.sleep(until_next_second)
        return True

    def _current(self) -> _Second:
        number = int(self._clock())
        if not self._seconds or self._seconds[-1].number != number:
            self._seconds.append(_Second(number))
        while self._seconds[0].number <= number - WINDOW_SECONDS:
            self._seconds.popleft()
        return self._seconds[-1]
