"""Who gets which slot: admission, leases and the one place where they are given out.

A request is admitted for as long as a `with` block lasts, and holds a slot for as long as an `async with`
block lasts:

    with pool.admit(request_id, requirement) as ticket:
        async with pool.lease(ticket) as lease:        # waits for its turn
            ...                                        # lease.worker is ours pool.requeue(ticket,
            exclude=lease.worker) # it failed: to the front of the queue, then lease again

There is no other way to hold a slot, so none can leak: whatever ends the block (an answer, an error, a client
that left between two awaits) gives it back, and giving back twice, late, or to a worker that has restarted
does nothing. Everything here runs on one event loop without awaiting, except for the wait itself.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from gateway.errors import ApiError
from gateway.eta import SlotForecast, estimate_wait, simulate_waits
from gateway.positions import CallLater, PositionAnnouncer
from gateway.queue import Requirement, Ticket, TicketQueue
from gateway.workers import Worker
from worker.protocol import WorkerStatus


@dataclass(frozen=True, eq=False)
class Lease:
    """The right to one slot. `epoch` counts the leases of its ticket and fences off earlier ones."""

    id: str
    epoch: int
    worker: Worker
    ticket: Ticket
    granted_at: float


def _call_later(delay_seconds: float, callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(delay_seconds, callback)


class WorkerPool:
    """Workers, waiting tickets and leases. Methods other than `lease` never block."""

    def __init__(
        self,
        workers: Iterable[Worker],
        *,
        max_queue: int,
        no_worker_grace_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        call_later: CallLater = _call_later,
    ) -> None:
        self.workers: dict[str, Worker] = {worker.id: worker for worker in workers}
        self.queue = TicketQueue()
        self.tickets: dict[str, Ticket] = {}
        """Every admitted ticket, waiting, running or between two attempts."""
        self.on_change: list[Callable[[], None]] = []
        """Called after every change of workers, leases or queue."""
        self.max_queue = max_queue
        self._grace_seconds = no_worker_grace_seconds
        self._clock = clock
        self._call_later = call_later
        self._lease_numbers = itertools.count(1)
        self._positions = PositionAnnouncer(self.queue, call_later)
        self._watched: set[Requirement] = set()
        """Requirements that are checked again, and given up, after the grace period."""

    # ---------------------------------------------------------------------------------------------- admission

    @contextmanager
    def admit(
        self,
        request_id: str,
        requirement: Requirement,
        on_move: Callable[[Ticket], None] = lambda ticket: None,
    ) -> Iterator[Ticket]:
        """Queue a request and dispatch. `on_move` hears of changes of `ticket.position` while it waits.

        Raises ApiError: 404 for a model or voice that nobody has, 503 when no worker is there, 429
        when the queue is full.
        """
        if problem := self.why_unservable(requirement):
            raise problem
        ticket = Ticket(
            id=f"q_{secrets.token_hex(6)}",
            request_id=request_id,
            requirement=requirement,
            enqueued_at=self._clock(),
            future=asyncio.Future(),
            on_move=on_move,
        )
        self.tickets[ticket.id] = ticket
        try:
            self.queue.push_back(ticket)
            self._dispatch()
            if ticket.lease is None:
                if len(self.queue) > self.max_queue:
                    wait = self.estimate_wait(requirement, 1)
                    message = f"the queue is full: {self.max_queue} requests may wait"
                    raise ApiError(429, "queue_full", message, retry_after_seconds=wait)
                ticket.position = len(self.queue)
            yield ticket
        finally:
            self._leave(ticket)

    def why_unservable(self, requirement: Requirement) -> ApiError | None:
        """Why no worker could serve the requirement now or, as far as is known, soon; None when one could."""
        workers = self.workers.values()
        if any(worker.serving and worker.offers(requirement) for worker in workers):
            return None
        if any(worker.pending and (worker.model is None or worker.offers(requirement)) for worker in workers):
            return None
        known = [worker for worker in workers if worker.model is not None]
        begun = requirement.revision is not None
        if (
            begun
            or any(worker.offers(requirement) for worker in known)
            or not any(w.serving for w in workers)
        ):
            return ApiError(
                503, "no_worker", "no worker is up that can serve this request", retry_after_seconds=5
            )
        if any(worker.offers(Requirement(model=requirement.model)) for worker in known):
            return ApiError(404, "unknown_voice", f"there is no voice {requirement.voice!r}", param="voice")
        return ApiError(404, "unknown_model", f"there is no model {requirement.model!r}", param="model")

    # ------------------------------------------------------------------------------------------------- leases

    @asynccontextmanager
    async def lease(self, ticket: Ticket) -> AsyncIterator[Lease]:
        """Wait for the ticket's turn, then hold a slot. Raises ApiError when the wait is hopeless."""
        lease = await ticket.future
        try:
            yield lease
        finally:
            self._release(lease)

    def requeue(
        self, ticket: Ticket, exclude: Worker | None = None, requirement: Requirement | None = None
    ) -> None:
        """Give the ticket's slot back and put it at the front of the queue, for another worker."""
        if exclude is not None:
            ticket.excluded.add(exclude.id)
        if requirement is not None:
            ticket.requirement = requirement
        ticket.future = asyncio.Future()
        self.queue.push_front(ticket)
        if ticket.lease is not None:
            ticket.lease.worker.leases.pop(ticket.lease.id, None)
            ticket.lease = None
        self._dispatch()
        self._watch(ticket.requirement)

    def end(self, ticket_id: str, reason: ApiError) -> bool:
        """End a request, waiting or running; its client hears `reason`. False when there is none."""
        ticket = self.tickets.get(ticket_id)
        if ticket is None:
            return False
        ticket.ended_by = reason
        if self.queue.remove(ticket):
            self._fail(ticket, reason)
        self._changed()
        return True

    def _release(self, lease: Lease) -> None:
        """Return a slot. Does nothing for a lease that is no longer in force."""
        if lease.ticket.lease is lease:
            lease.ticket.lease = None
        if lease.worker.leases.pop(lease.id, None) is not None:
            self._dispatch()

    def _leave(self, ticket: Ticket) -> None:
        del self.tickets[ticket.id]
        self.queue.remove(ticket)
        if not ticket.future.cancel() and not ticket.future.cancelled():
            ticket.future.exception()  # retrieved, or asyncio would report it as lost
        if ticket.lease is not None:
            self._release(ticket.lease)
        else:
            self._changed()

    def _dispatch(self) -> None:
        """Give free slots to the earliest tickets; the only place that grants a lease."""
        while grant := self._next_grant():
            ticket, worker = grant
            self.queue.remove(ticket)
            if not ticket.future.done():
                self._grant(ticket, worker)
        self._changed()

    def _next_grant(self) -> tuple[Ticket, Worker] | None:
        """The earliest ticket that a worker with room can take, and the least loaded such worker."""
        if not self.queue:
            return None
        best: tuple[int, float] | None = None
        grant = None
        for worker in self.workers.values():
            if not worker.has_room():
                continue
            ticket = self.queue.first(
                worker.offers, lambda ticket, worker=worker: self._may_take(ticket, worker)
            )
            if ticket is not None:
                rank = (ticket.sequence, len(worker.leases) / worker.slots_total)
                if best is None or rank < best:
                    best, grant = rank, (ticket, worker)
        return grant

    def _may_take(self, ticket: Ticket, worker: Worker) -> bool:
        """Not a worker that failed this request, unless there is no other."""
        return worker.id not in ticket.excluded or not any(
            other.serving and other.id not in ticket.excluded and other.offers(ticket.requirement)
            for other in self.workers.values()
        )

    def _grant(self, ticket: Ticket, worker: Worker) -> None:
        ticket.attempts += 1
        lease = Lease(f"l_{next(self._lease_numbers)}", ticket.attempts, worker, ticket, self._clock())
        worker.leases[lease.id] = lease
        ticket.lease = lease
        ticket.future.set_result(lease)

    # ------------------------------------------------------------------------------------------------- health

    def report_status(self, worker: Worker, status: WorkerStatus) -> None:
        """A probe of the worker was answered."""
        with self._health_changes(worker):
            worker.answered(status)

    def report_missed(self, worker: Worker, reason: str) -> None:
        """A probe of the worker failed."""
        with self._health_changes(worker):
            worker.missed(reason)

    def report_suspect(self, worker: Worker, reason: str) -> None:
        """A request failed on the worker in a way that the worker is to blame for."""
        with self._health_changes(worker):
            worker.suspected(reason)
            self._hold(worker)

    def report_refused(self, worker: Worker) -> None:
        """The worker said that it has no slot for us just now."""
        self._hold(worker)

    def _hold(self, worker: Worker) -> None:
        if not worker.held:
            self._call_later(worker.hold(), lambda: self._end_hold(worker))

    def _end_hold(self, worker: Worker) -> None:
        worker.end_hold()
        self._dispatch()

    @contextmanager
    def _health_changes(self, worker: Worker) -> Iterator[None]:
        was_serving = worker.serving
        yield
        self._dispatch()
        for requirement in self.queue.requirements:
            self._watch(requirement)
        if worker.serving != was_serving:
            self._positions.outlook_changed()

    def _watch(self, requirement: Requirement) -> None:
        """Let tickets that nobody can serve wait for the grace period, in case a worker comes back."""
        if requirement not in self._watched and (problem := self.why_unservable(requirement)):
            self._watched.add(requirement)
            delay_seconds = self._grace_seconds if problem.status_code == 503 else 0.0
            self._call_later(delay_seconds, lambda: self._give_up(requirement))

    def _give_up(self, requirement: Requirement) -> None:
        self._watched.discard(requirement)
        if problem := self.why_unservable(requirement):
            for ticket in self.queue.lane(requirement):
                self.queue.remove(ticket)
                self._fail(ticket, problem)
            self._changed()

    def _fail(self, ticket: Ticket, problem: ApiError) -> None:
        if not ticket.future.done():
            ticket.future.set_exception(problem)

    # --------------------------------------------------------------------------------------- position and ETA

    def estimate_wait(self, requirement: Requirement, position: int) -> float | None:
        """Seconds until the request at `position` (1 = head) starts; None when no worker for it is up."""
        return estimate_wait(self._forecast(requirement), position)

    def estimate_waits(self, requirement: Requirement, count: int) -> list[float]:
        """The same for the first `count` positions; empty when no worker for them is up."""
        return simulate_waits(self._forecast(requirement), count)

    def _forecast(self, requirement: Requirement) -> list[SlotForecast]:
        now = self._clock()
        return [
            slot
            for worker in self.workers.values()
            if worker.serving and worker.offers(requirement)
            for slot in worker.forecast(now)
        ]

    def now(self) -> float:
        """The clock that `enqueued_at` and `granted_at` are read from."""
        return self._clock()

    def _changed(self) -> None:
        for listener in self.on_change:
            listener()
        self._positions.queue_changed()
