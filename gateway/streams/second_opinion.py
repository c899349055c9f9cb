"""A request that one worker calls wrong is shown to another. If that takes it, the first one is doubted.

The gateway has checked every request before. A worker that calls all of them wrong is fast and always free,
and would take one after the other.
"""

from __future__ import annotations

import structlog

from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.client import RequestRejected

logger = structlog.get_logger(__name__)


class SecondOpinion:
    """Of one request, of which one worker at most is asked for it."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._by: Worker | None = None
        self.rejection: RequestRejected | None = None
        """What the first one said, while a second is awaited."""

    def is_to_be_had(self, worker: Worker, *, at_once: bool = False) -> bool:
        """Whether another worker serves the model of the one that calls the request wrong, `at_once`: with
        room for it now, and none was asked before.
        """
        others = (other for other in self._pool.workers.values() if other is not worker)
        return self.rejection is None and any(
            other.model == worker.model and (other.room > 0 if at_once else other.serving) for other in others
        )

    def await_one(self, worker: Worker, rejection: RequestRejected) -> None:
        """The request goes to another worker."""
        self._by, self.rejection = worker, rejection

    def taken(self, worker: Worker) -> None:
        """The worker made something of the request."""
        first, rejection = self._by, self.rejection
        self._by = self.rejection = None
        if first is None or rejection is None or first is worker or first.model != worker.model:
            return
        code = rejection.detail.code
        logger.warning("a worker rejects what another one takes", worker=first.id, code=code, by=worker.id)
        first.figures.failures["rejected"] += 1
        self._pool.reports.suspected(first, f"it rejects what others take: {code}")
