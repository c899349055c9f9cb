"""The outlook of the queue for each kind of request, simulated again only when it has changed.

An `Outlook` is good until a slot is taken or freed or a worker changes, and for a quarter of a second at
most, since requests that run get nearer to their end. So ten thousand arrivals cost one simulation. While no
worker serves, those that are being started count.

A fleet of many slots (`MANY_SLOTS`) is not simulated. There one request that ends changes little, so the
outlook follows from how many slots are free and how many requests end in a second. It is good for the whole
quarter of a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from gateway.slots.capacity.estimates import Outlook, SteadyOutlook
from gateway.slots.capacity.groups import Groups
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement

MANY_SLOTS = 1024
_GOOD_FOR_SECONDS = 0.25
_MOST_KEPT = 256
"""Requirements."""


class Outlooks:
    """Outlooks over `workers`, which may grow and shrink; `changed` drops what is remembered.

    `groups` are those of the same workers.
    """

    def __init__(self, workers: Collection[Worker], groups: Groups, clock: Callable[[], float]) -> None:
        self._workers = workers
        self._groups = groups
        self._clock = clock
        self._made: dict[Requirement, tuple[float, Outlook]] = {}
        self._steady: dict[Requirement, tuple[float, Outlook]] = {}

    def changed(self) -> None:
        """Slots or workers are no longer what they were."""
        self._made.clear()

    def of(self, requirement: Requirement) -> Outlook:
        """When requests with that requirement will start."""
        now = self._clock()
        for kept in (self._made, self._steady):
            made_at, outlook = kept.get(requirement, (-math.inf, None))
            if outlook is not None and now - made_at <= _GOOD_FOR_SECONDS:
                return outlook
        outlook = self._make(requirement, now)
        kept = self._steady if isinstance(outlook, SteadyOutlook) else self._made
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[requirement] = now, outlook
        return outlook

    def _make(self, requirement: Requirement, now: float) -> Outlook:
        groups = self._groups.offering(requirement)
        able = [worker for group in groups for worker in group.serving.values()]
        if sum(worker.slots_total for worker in able) > MANY_SLOTS:
            rate = sum(worker.slots_total / worker.turn_seconds for worker in able)
            return SteadyOutlook(rate, any(worker.service_time.measured for worker in able))
        slots = [slot for worker in able for slot in worker.forecast(now)]
        if not able:
            able = [worker for worker in self._workers if _may_come(worker, requirement)]
            slots = [slot for worker in able for slot in worker.forecast_return(now)]
        return Outlook(slots, measured=any(worker.service_time.measured for worker in able))


def _may_come(worker: Worker, requirement: Requirement) -> bool:
    return worker.expected and (worker.model is None or worker.offers(requirement))
