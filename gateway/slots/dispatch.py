"""Which waiting ticket gets which free slot: the whole rule, without the bookkeeping.

Each worker with room proposes the first ticket in line that it can serve; the earliest in line wins, on the
least loaded of the workers that proposed it. A worker that spoke with the ticket's voice recently has it in
its caches, which counts as much as half of its slots being free.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gateway.slots.queue import Rank, TicketQueue
from gateway.slots.tickets import Ticket
from gateway.slots.worker import Worker

_WARM_CACHE_IS_WORTH = 0.5
"""In units of load, which goes from 0 to 1."""


@dataclass(frozen=True)
class Grant:
    """A slot of `worker` for `ticket`."""

    rank: Rank
    ticket: Ticket
    worker: Worker


def next_grant(queue: TicketQueue, workers: Collection[Worker], now: float) -> Grant | None:
    """What is to be given out next; None when nobody who waits can be served."""
    if not queue:
        return None
    best: tuple[Rank, float] | None = None
    grant = None
    for worker in workers:
        if not worker.has_room():
            continue
        found = _first_for(worker, queue, workers, now)
        if found is not None:
            rank, ticket = found
            load = worker.slots_used / worker.slots_total
            if (voice := ticket.requirement.affinity) and worker.has_spoken(voice):
                load -= _WARM_CACHE_IS_WORTH
            if best is None or (rank, load) < best:
                best, grant = (rank, load), Grant(rank, ticket, worker)
    return grant


def ask_for_slots(queue: TicketQueue, workers: Collection[Worker], now: float) -> None:
    """Tell the workers that share their slots how many of them would be used here, if there were more."""
    for worker in workers:
        if worker.sharing.open:
            worker.sharing.ask(_wanted_slots(queue, worker, workers, now))


def _wanted_slots(queue: TicketQueue, worker: Worker, workers: Collection[Worker], now: float) -> int:
    """At most as many as the worker has in all."""
    if not queue or not worker.wants_work() or _first_for(worker, queue, workers, now) is None:
        return 0
    able = filter(worker.offers, queue.requirements)
    return min(sum(map(queue.lane_length, able)), worker.slots_total)


def _first_for(
    worker: Worker, queue: TicketQueue, workers: Collection[Worker], now: float
) -> tuple[Rank, Ticket] | None:
    return queue.first(worker.offers, lambda ticket: _may_take(ticket, worker, workers), now)


def _may_take(ticket: Ticket, worker: Worker, workers: Collection[Worker]) -> bool:
    """Not a worker that failed this request, unless there is no other."""
    return worker.id not in ticket.excluded or not any(
        other.serving and other.id not in ticket.excluded and other.offers(ticket.requirement)
        for other in workers
    )
