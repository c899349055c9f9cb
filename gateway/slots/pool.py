"""Who gets which slot: admission, leases and the one place where they are given out.

A request is admitted for as long as a `with` block lasts, and holds a slot for as long as an `async with`
block lasts:

    with pool.admit(request_id, requirement) as ticket:
        async with pool.lease(ticket) as lease:        # waits for its turn
            ...                                        # lease.worker is ours
            pool.requeue(ticket, exclude=lease.worker) # it failed: back to the front, then lease again

There is no other way to hold a slot, so none can leak: whatever ends the block gives it back, and giving back
twice, late, or to a worker that has restarted does nothing. Everything here runs on one event loop without
awaiting, except for the wait itself.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

from gateway.errors import ApiError
from gateway.slots.admission import too_many_streams, who_must_go, why_unservable
from gateway.slots.capacity.estimates import Outlook
from gateway.slots.capacity.groups import Groups
from gateway.slots.capacity.outlooks import Outlooks
from gateway.slots.capacity.worker import Worker
from gateway.slots.capacity.workers import Workers
from gateway.slots.demand import Demand
from gateway.slots.dispatch import Asking, next_grant
from gateway.slots.grace import GracePeriod
from gateway.slots.leases import Leases
from gateway.slots.line.about import About
from gateway.slots.line.positions import CallLater, PositionAnnouncer, call_later
from gateway.slots.line.queue import TicketQueue
from gateway.slots.line.standing import NOBODY, Standing
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.open_tickets import OpenTickets
from gateway.slots.reports import Reports
from gateway.slots.requirement import Requirement

_UNKNOWN = About()


class WorkerPool:
    """Workers, waiting tickets and leases. Methods other than `lease` never block."""

    def __init__(
        self,
        workers: Iterable[Worker],
        *,
        max_queue: int,
        no_worker_grace_seconds: float,
        max_wait_seconds: float = math.inf,
        ageing_seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        call_later: CallLater = call_later,
    ) -> None:
        self.workers = Workers((worker.id, worker) for worker in workers)
        self.queue = TicketQueue(ageing_seconds)
        self.tickets = OpenTickets()
        self.on_change: list[Callable[[], None]] = []
        """Called after every change of workers, leases or queue."""
        self.demand = Demand()
        self.prospects: Callable[[Requirement], bool] = lambda requirement: False
        """Whether somebody starts a worker for a requirement that none serves."""
        self.may_be_empty: Callable[[], bool] = lambda: False
        """Whether it is no fault that there is no worker."""
        self.max_queue = max_queue
        self._max_wait_seconds = max_wait_seconds
        self._clock = clock
        self._positions = PositionAnnouncer(self.queue, call_later)
        self._grace = GracePeriod(no_worker_grace_seconds, call_later, self.why_unservable, self._give_up)
        self._asking = Asking()
        self._groups = Groups()
        self._outlooks = Outlooks(self.workers.values(), self._groups, clock)
        self._leases = Leases(self._groups, self._outlooks, clock)
        self.reports = Reports(
            self._groups,
            self._outlooks,
            self._positions,
            self.demand,
            clock=clock,
            call_later=call_later,
            look_again=self._look_again,
        )
        """Where is told what is heard of workers."""
        for worker in self.workers.values():
            self._groups.add(worker)

    # ---------------------------------------------------------------------------------------------- admission

    @contextmanager
    def admit(
        self,
        request_id: str,
        requirement: Requirement,
        on_move: Callable[[Ticket], None] = lambda ticket: None,
        standing: Standing = NOBODY,
        about: About = _UNKNOWN,
    ) -> Iterator[Ticket]:
        """Queue a request and dispatch. `on_move` hears of changes of `ticket.position` while it waits.

        A clip that was begun before (its requirement names a revision) waits in front of its own client's
        others: a resume token is its client's word, and buys nothing from anybody else.

        Raises ApiError: 404 for a model or voice that nobody has, 503 when no worker is there, 429
        when its client has too many requests, its wait would be too long, or the queue is full.
        """
        if problem := self.why_unservable(requirement):
            if problem.status_code == 503:
                self.demand.refused(requirement)
            raise problem
        begun = requirement.revision is not None
        limit = 0 if standing.accompanies else standing.max_streams
        if 0 < limit <= self.tickets.of(standing.tenant, begun):
            outlook = self.outlook(requirement)
            raise too_many_streams(standing, self.tickets.values(), outlook, self._clock())
        id, now = f"q_{secrets.token_hex(6)}", self._clock()
        self.demand.came(requirement, standing.audio_seconds, now)
        future: asyncio.Future[Lease] = asyncio.Future()
        ticket = Ticket(id, request_id, requirement, now, future, standing, about, on_move=on_move)
        self.tickets.open(ticket)
        try:
            ticket.begun = begun
            self.queue.push_back(ticket)
            self._dispatch()
            if ticket.lease is None:
                ticket.position = self.queue.place(ticket)
                self._check_room(ticket)
            yield ticket
        finally:
            self._leave(ticket)

    def _check_room(self, newcomer: Ticket) -> None:
        limits = self.max_queue, self._max_wait_seconds
        if refusal := who_must_go(self.queue, newcomer, self.outlook(newcomer.requirement), *limits):
            ticket, problem = refusal
            self.demand.refused(ticket.requirement)
            if ticket is newcomer:
                raise problem
            self.queue.remove(ticket)
            self._fail(ticket, problem)

    def is_awaited(self, worker: Worker) -> bool:
        """Whether somebody waits who could have a slot of that worker."""
        return any(map(worker.offers, self.queue.requirements))

    def why_unservable(self, requirement: Requirement) -> ApiError | None:
        """Why no worker could serve the requirement now or, as far as is known, soon; None when one could."""
        if self._groups.serves(requirement) or self.prospects(requirement):
            return None
        return why_unservable(self.workers.values(), requirement)

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
            ticket.excluded |= {exclude.id}
        if requirement is not None:
            ticket.requirement = requirement
        ticket.future = asyncio.Future()
        self.queue.push_front(ticket)
        if ticket.lease is not None:
            self._leases.give_back(ticket.lease)
            ticket.lease = None
        self._outlooks.changed()
        self._dispatch()
        self._grace.watch(ticket.requirement)

    def end(self, ticket_id: str, reason: ApiError) -> bool:
        """End a request, waiting or running; its client hears `reason`. False when there is none."""
        ticket = self.tickets.get(ticket_id)
        if ticket is None:
            return False
        ticket.ended_by = reason
        if self.queue.remove(ticket):
            self._fail(ticket, reason)
        ticket.on_end(reason)
        self._changed()
        return True

    def step_aside(self, ticket: Ticket) -> None:
        """Pass over a waiting ticket until `step_back`: a slot would be of no use to it."""
        self.queue.step_aside(ticket)
        self._changed()

    def step_back(self, ticket: Ticket) -> None:
        """It has a use for a slot again, and takes its place."""
        if self.queue.step_back(ticket):
            self._dispatch()
            self._grace.watch(ticket.requirement)

    def set_mode(self, ticket: Ticket, mode: str) -> None:
        """Say what the ticket's slot is used for."""
        ticket.mode = mode
        self._changed()

    def _release(self, lease: Lease) -> None:
        """Return a slot. Does nothing for a lease that is no longer in force."""
        if lease.ticket.lease is lease:
            lease.ticket.lease = None
        if self._leases.give_back(lease):
            self._outlooks.changed()
            self._dispatch()

    def _leave(self, ticket: Ticket) -> None:
        self.tickets.close(ticket)
        self.queue.remove(ticket)
        self.queue.settle(ticket)
        if not ticket.future.cancel() and not ticket.future.cancelled():
            ticket.future.exception()  # retrieved, or asyncio would report it as lost
        del ticket.future  # its lease holds the ticket, and only the garbage collector would part the two
        if ticket.lease is not None:
            self._release(ticket.lease)
        else:
            self._changed()

    def _dispatch(self) -> None:
        """Give free slots to the tickets that are next; the only place that grants a lease."""
        while grant := next_grant(self.queue, self._groups, self._clock()):
            self.queue.take(grant.ticket, grant.rank)
            if not grant.ticket.future.done():
                self._leases.grant(grant.ticket, grant.worker)
                self.reports.granted(grant.worker)
        self._changed()

    @contextmanager
    def slots_change(self, worker: Worker) -> Iterator[None]:
        """Something is heard of slots of the worker that other gateways use too. A slot that it granted and
        that nobody here has a use for is given back.
        """
        yield
        self._groups.touch(worker)
        self._outlooks.changed()
        self._dispatch()
        worker.sharing.return_unused()
        self._groups.touch(worker)

    # ------------------------------------------------------------------------------------------------ workers

    def add_worker(self, worker: Worker) -> None:
        """A worker dialled in; it is used once a probe of it succeeds."""
        self.workers[worker.id] = worker
        self._groups.add(worker)
        self._changed()

    def remove_worker(self, worker: Worker) -> None:
        """Forget a worker that is gone and holds no lease."""
        with self.reports.changes(worker):
            self.workers.pop(worker.id, None)
            self.demand.forget(worker)
            self._groups.forget(worker)

    def _look_again(self) -> None:
        """At who waits: a worker is there, or is not any more."""
        self._dispatch()
        for requirement in self.queue.requirements:
            self._grace.watch(requirement)

    def _give_up(self, requirement: Requirement, problem: ApiError) -> None:
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
        return self.outlook(requirement).wait(position)

    def outlook(self, requirement: Requirement) -> Outlook:
        """When requests with that requirement will start."""
        return self._outlooks.of(requirement)

    def now(self) -> float:
        """The clock that `enqueued_at` and `granted_at` are read from."""
        return self._clock()

    def _changed(self) -> None:
        self._asking.ask(self.queue, self._groups, self._clock())
        for listener in self.on_change:
            listener()
        self._positions.queue_changed()
