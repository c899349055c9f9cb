"""How long a request at position n will wait, by simulating the queue ahead of it.

A slot that is free in r seconds and then serves one request every s seconds takes requests at r, r + s, r +
2s, ... The n-th request starts at the n-th smallest of these times over all slots. That time is found by
bisection on "how many starts happen until t", which costs O(slots) whatever n is:

    estimate_wait([SlotForecast(1.0, 4.0), SlotForecast(2.0, 4.0)], position=3) == 5.0
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_SERVICE_SECONDS = 5.0
"""Assumed before anything was measured."""
_SMOOTHING = 0.3
_OVERDUE_SHARE = 0.25
_BISECTION_STEPS = 40


@dataclass(frozen=True)
class SlotForecast:
    """One slot: free in `free_in_seconds`, then busy `service_seconds` with each request."""

    free_in_seconds: float
    service_seconds: float


class ServiceTime:
    """Exponential moving average of how long a worker holds a slot for one request."""

    def __init__(self) -> None:
        self._seconds: float | None = None

    def observe(self, seconds: float) -> None:
        """Take in one finished request."""
        if self._seconds is None:
            self._seconds = seconds
        else:
            self._seconds += _SMOOTHING * (seconds - self._seconds)

    @property
    def seconds(self) -> float:
        """The average, never zero."""
        return DEFAULT_SERVICE_SECONDS if self._seconds is None else max(self._seconds, 1e-3)

    def remaining(self, elapsed_seconds: float) -> float:
        """What a running request probably still needs; an overdue one a share of the average."""
        return max(self.seconds - elapsed_seconds, _OVERDUE_SHARE * self.seconds)


def estimate_wait(slots: Sequence[SlotForecast], position: int) -> float | None:
    """Seconds until the request at `position` (1 = head of the queue) gets a slot; None without slots."""
    if not slots:
        return None
    latest = min(slot.free_in_seconds + (position - 1) * slot.service_seconds for slot in slots)
    earliest = 0.0
    if _starts_until(slots, earliest) >= position:
        return earliest
    for _ in range(_BISECTION_STEPS):
        middle = (earliest + latest) / 2
        if _starts_until(slots, middle) >= position:
            latest = middle
        else:
            earliest = middle
    return latest


def _starts_until(slots: Sequence[SlotForecast], seconds: float) -> int:
    return sum(
        math.floor((seconds - slot.free_in_seconds) / slot.service_seconds) + 1
        for slot in slots
        if seconds >= slot.free_in_seconds
    )


def simulate_waits(slots: Sequence[SlotForecast], count: int) -> list[float]:
    """The waits of positions 1 to `count` at once, in O(count log slots); empty without slots."""
    free = [(slot.free_in_seconds, slot.service_seconds) for slot in slots]
    heapq.heapify(free)
    waits: list[float] = []
    while free and len(waits) < count:
        starts_in, service_seconds = free[0]
        waits.append(starts_in)
        heapq.heapreplace(free, (starts_in + service_seconds, service_seconds))
    return waits
