"""What is heard of workers: from probes, from registrations, and from the requests that they serve.

    pool.reports.answered(worker, status)
    pool.reports.failed(worker, "the stream broke off")

Whatever is heard may give somebody who waits a slot, or leave a requirement without anybody who serves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from gateway.slots.capacity.groups import Groups
from gateway.slots.capacity.outlooks import Outlooks
from gateway.slots.capacity.trust import PASSED_OVER_SECONDS
from gateway.slots.capacity.worker import Worker
from gateway.slots.demand import Demand
from gateway.slots.line.positions import CallLater, PositionAnnouncer
from gateway.slots.line.tickets import Ticket
from worker.protocol import WorkerStatus

logger = structlog.get_logger(__name__)


class Reports:
    """Notes of a worker what is told, and has the pool look at its queue again."""

    def __init__(
        self,
        groups: Groups,
        outlooks: Outlooks,
        positions: PositionAnnouncer,
        demand: Demand,
        *,
        clock: Callable[[], float],
        call_later: CallLater,
        look_again: Callable[[], None],
    ) -> None:
        """`look_again`: who waits may be served by now, or by nobody any more."""
        self._groups, self._outlooks, self._positions = groups, outlooks, positions
        self._demand = demand
        self._clock, self._call_later, self._look_again = clock, call_later, look_again
        self.on_health: list[Callable[[Worker], None]] = []
        """Called after all that is heard of a worker."""

    def answered(self, worker: Worker, status: WorkerStatus) -> None:
        """A probe of the worker was answered."""
        with self.changes(worker):
            worker.answered(status)

    def missed(self, worker: Worker, reason: str) -> None:
        """A probe of the worker failed."""
        with self.changes(worker):
            worker.missed(reason)

    def gone(self, worker: Worker, reason: str) -> None:
        """The worker is known to be away: it said so, or its registration ran out."""
        with self.changes(worker):
            worker.gone(reason)

    def suspected(self, worker: Worker, reason: str) -> None:
        """A request failed on the worker in a way that the worker is to blame for."""
        with self.changes(worker):
            worker.suspected(reason)
            self._hold(worker)

    def failed(self, worker: Worker, reason: str) -> None:
        """A request failed on the worker, which says that it is well itself."""
        with self.changes(worker):
            if worker.failed(reason):
                self._hold(worker)

    def audio_came(self, worker: Worker, ticket: Ticket | None = None) -> None:
        """An attempt on the worker brought its first audio, to the request of the ticket."""
        if ticket is not None:
            self._demand.heard(ticket, self._clock())
        on_trial = worker.trust.on_trial
        worker.trust.proved()
        if on_trial:
            self._groups.touch(worker)
            self._look_again()

    def refused(self, worker: Worker) -> None:
        """The worker said that it has no slot for us just now."""
        if not worker.sharing.open:
            self._hold(worker)
        elif not worker.trust.held and not worker.sharing.doubtful:
            self._call_later(worker.doubt(), lambda: self._end_wait(worker, worker.end_doubt))
            self._groups.touch(worker)

    def granted(self, worker: Worker) -> None:
        """The worker got a request; where its audio came too slowly before, the next ones go to others."""
        trust = worker.trust
        if trust.late and not trust.passed_over:
            logger.info("a worker sends audio too slowly: others are preferred", worker=worker.id)
            trust.passed_over = True
            self._call_later(PASSED_OVER_SECONDS, lambda: self._end_wait(worker, trust.end_pass))
            self._groups.touch(worker)

    @contextmanager
    def changes(self, worker: Worker) -> Iterator[None]:
        """Something about the worker's health changes in the block."""
        was_serving = worker.serving
        yield
        worker.absence.note(worker.serving, worker.boot_id, self._clock())
        self._groups.touch(worker)
        self._outlooks.changed()
        self._look_again()
        if worker.serving:
            self._demand.served(worker, self._clock())
        if worker.serving != was_serving:
            self._positions.outlook_changed()
        for listener in self.on_health:
            listener(worker)

    def _hold(self, worker: Worker) -> None:
        if not worker.trust.held:
            self._call_later(worker.trust.hold(), lambda: self._end_wait(worker, worker.trust.end_hold))
            self._groups.touch(worker)

    def _end_wait(self, worker: Worker, end: Callable[[], None]) -> None:
        end()
        self._groups.touch(worker)
        self._look_again()
