"""How long a request at position n will wait, by simulating the queue ahead of it.

A slot that is free in r seconds and then serves one request every s seconds takes requests at r, r + s, r +
2s, ... The n-th request starts at the n-th smallest of these times over all slots:

    Outlook([SlotForecast(1.0, 4.0), SlotForecast(2.0, 4.0)]).wait(position=3) == 5.0
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

DEFAULT_SERVICE_SECONDS = 5.0


@dataclass
class EtaTuning:
    """What estimates are made with. One object is shared by all workers of a gateway, so that a change holds
    for every one at once.
    """

    prior_seconds: float = DEFAULT_SERVICE_SECONDS
    """How long a request takes, as long as none was timed."""
    alpha: float = 0.3
    """Weight of the newest request in the moving average."""
    overdue_share: float = 0.25
    """What a request that takes longer than the average still needs, as a share of it."""


@dataclass(frozen=True)
class SlotForecast:
    """One slot: free in `free_in_seconds`, then busy `service_seconds` with each request."""

    free_in_seconds: float
    service_seconds: float


class ServiceTime:
    """Exponential moving average of how long a worker holds a slot for one request."""

    def __init__(self, tuning: EtaTuning | None = None) -> None:
        self.tuning = tuning or EtaTuning()
        self._seconds: float | None = None

    def observe(self, seconds: float) -> None:
        """Take in one finished request."""
        if self._seconds is None:
            self._seconds = seconds
        else:
            self._seconds += self.tuning.alpha * (seconds - self._seconds)

    @property
    def measured(self) -> bool:
        """Whether anything was observed."""
        return self._seconds is not None

    @property
    def seconds(self) -> float:
        """The average, never zero."""
        return max(self.tuning.prior_seconds if self._seconds is None else self._seconds, 1e-3)

    def remaining(self, elapsed_seconds: float) -> float:
        """What a running request probably still needs; an overdue one a share of the average."""
        return max(self.seconds - elapsed_seconds, self.tuning.overdue_share * self.seconds)


class Outlook:
    """When the requests in line will start, as known at one moment.

    The start of position n is simulated when somebody asks for it, in O(log slots), and remembered. Beyond
    `EXACT_POSITIONS` it follows from the rate at which the slots take requests, wrong by less than the time
    of one request.
    """

    EXACT_POSITIONS = 512

    def __init__(self, slots: Iterable[SlotForecast], measured: bool = True) -> None:
        self.measured = measured
        """Some request has been timed; otherwise all is a guess."""
        self._free = [(slot.free_in_seconds, slot.service_seconds) for slot in slots]
        heapq.heapify(self._free)
        self._rate = sum(1.0 / service_seconds for _, service_seconds in self._free)
        self._waits: list[float] = []

    def wait(self, position: int) -> float | None:
        """Seconds until the request at `position` (1 = head of the queue) gets a slot; None without slots."""
        if not self._free:
            return None
        exact = min(position, self.EXACT_POSITIONS)
        while len(self._waits) < exact:
            starts_in, service_seconds = self._free[0]
            self._waits.append(starts_in)
            heapq.heapreplace(self._free, (starts_in + service_seconds, service_seconds))
        return self._waits[exact - 1] + (position - exact) / self._rate


class SteadyOutlook(Outlook):
    """The outlook where so many slots are in use that requests end as evenly as they come.

    Args:
        rate: requests that end in a second.
    """

    def __init__(self, rate: float, measured: bool = True) -> None:
        super().__init__((), measured)
        self._rate = rate

    def wait(self, position: int) -> float | None:
        """Seconds until the request at `position` (1 = head of the queue) gets a slot."""
        return position / self._rate
