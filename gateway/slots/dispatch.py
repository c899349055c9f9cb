"""Which waiting ticket gets which free slot: the whole rule, without the bookkeeping.

Each worker with room proposes the first ticket in line that it can serve; the earliest in line wins, on the
least loaded of the workers that proposed it (`Group.least_loaded`). Workers of the same model propose the
same, so a group of them is asked once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from gateway.slots.capacity.groups import Group, Groups
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.queue import Rank, TicketQueue
from gateway.slots.line.tickets import Ticket

MOST_ASKED = 64
"""Workers of one model that a gateway asks for slots at the same time. Those that become free and were not
asked are noticed as well, unless another gateway asked them."""


@dataclass(frozen=True)
class Grant:
    """A slot of `worker` for `ticket`."""

    rank: Rank
    ticket: Ticket
    worker: Worker


def next_grant(queue: TicketQueue, groups: Groups, now: float) -> Grant | None:
    """What is to be given out next; None when nobody who waits can be served."""
    if not queue:
        return None
    best: tuple[Rank, float] | None = None
    grant = None
    for group in groups.with_room():
        found = queue.first(group.offers, lambda ticket, group=group: _may_take(ticket, group, groups), now)
        if found is None:
            continue
        rank, ticket = found
        load, worker = group.least_loaded(ticket.requirement.affinity, ticket.excluded)
        if best is None or (rank, load) < best:
            best, grant = (rank, load), Grant(rank, ticket, worker)
    return grant


def _may_take(ticket: Ticket, group: Group, groups: Groups) -> bool:
    """Not a worker that failed this request, unless there is no other."""
    return group.has_room_without(ticket.excluded) or not _others_serve(ticket, groups)


class Asking:
    """Tells the workers that share their slots how many of them would be used here, if there were more."""

    def __init__(self) -> None:
        self._asked: dict[str, Worker] = {}
        """Those that were told of more than none, by id."""

    def ask(self, queue: TicketQueue, groups: Groups, now: float) -> None:
        """To be called after every change of the queue or the workers; only news is told."""
        before, self._asked = self._asked, {}
        if queue:
            for group in groups:
                self._ask_group(queue, group, groups, now)
        for id, worker in before.items():
            if id not in self._asked:
                worker.sharing.ask(0)

    def _ask_group(self, queue: TicketQueue, group: Group, groups: Groups, now: float) -> None:
        first = queue.first(group.offers, lambda ticket: True, now)
        if first is None:
            return
        requests = sum(map(queue.lane_length, filter(group.offers, queue.requirements)))
        excluded = first[1].excluded
        for id, worker in islice(group.sharing.items(), MOST_ASKED):
            if id in excluded and not _has_work(queue, group, groups, worker, now):
                continue
            self._asked[id] = worker
            worker.sharing.ask(min(requests, worker.slots_total))


def _has_work(queue: TicketQueue, group: Group, groups: Groups, worker: Worker, now: float) -> bool:
    """Whether somebody waits who may be served by the very worker."""

    def may_take(ticket: Ticket) -> bool:
        return worker.id not in ticket.excluded or not _others_serve(ticket, groups)

    return queue.first(group.offers, may_take, now) is not None


def _others_serve(ticket: Ticket, groups: Groups) -> bool:
    """Whether a worker that has not failed the request could serve it."""
    return any(group.serves_without(ticket.excluded) for group in groups.offering(ticket.requirement))
