"""The outlook of the queue for each kind of request, simulated again only when it has changed.

An `Outlook` is good until a slot is taken or freed or a worker changes, and for a quarter of a second at
most, since requests that run get nearer to their end. So ten thousand arrivals cost one simulation. While no
worker serves, those that are being started count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from gateway.slots.estimates import Outlook
from gateway.slots.requirement import Requirement
from gateway.slots.worker import Worker

_GOOD_FOR_SECONDS = 0.25


class Outlooks:
    """Outlooks over `workers`, which may grow and shrink; `changed` drops what is remembered."""

    def __init__(self, workers: Collection[Worker], clock: Callable[[], float]) -> None:
        self._workers = workers
        self._clock = clock
        self._made: dict[Requirement, tuple[float, Outlook]] = {}

    def changed(self) -> None:
        """Slots or workers are no longer what they were."""
        self._made.clear()

    def of(self, requirement: Requirement) -> Outlook:
        """When requests with that requirement will start."""
        now = self._clock()
        made_at, outlook = self._made.get(requirement, (-math.inf, None))
        if outlook is None or now - made_at > _GOOD_FOR_SECONDS:
            able = [worker for worker in self._workers if worker.serving and worker.offers(requirement)]
            slots = [slot for worker in able for slot in worker.forecast(now)]
            if not able:
                able = [worker for worker in self._workers if _may_come(worker, requirement)]
                slots = [slot for worker in able for slot in worker.forecast_return(now)]
            outlook = Outlook(slots, measured=any(worker.service_time.measured for worker in able))
            self._made[requirement] = now, outlook
        return outlook


def _may_come(worker: Worker, requirement: Requirement) -> bool:
    return worker.expected and (worker.model is None or worker.offers(requirement))
