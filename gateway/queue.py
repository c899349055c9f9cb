"""The waiting line: first come, first served among requests that can use the same workers.

A `Ticket` is one request on its way through the gateway, over all its attempts. Waiting tickets stand in one
global order (`sequence`) and in a lane per `Requirement`; a worker with a free slot takes the earliest ticket
among the heads of the lanes that it can serve. So a ticket that waits for one model never blocks tickets for
another, nobody overtakes within a lane, and push, take and remove are O(1) in the length of the queue.

A request whose worker failed comes back with `push_front` and is ahead of everybody who has not been served
yet.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.errors import ApiError

if TYPE_CHECKING:
    from gateway.pool import Lease


@dataclass(frozen=True)
class Requirement:
    """What a worker must offer: a model, a voice, and for a clip that was begun the very same weights."""

    model: str | None = None
    voice: str = "default"
    revision: str | None = None


@dataclass(eq=False)
class Ticket:
    """One admitted request: it waits while `future` is pending and runs while it holds a `lease`."""

    id: str
    request_id: str
    requirement: Requirement
    enqueued_at: float
    future: asyncio.Future[Lease]
    sequence: int = 0
    attempts: int = 0
    """Leases granted so far; the number of the last is its epoch."""
    excluded: set[str] = field(default_factory=set)
    """Ids of workers that failed this request; used again only when nobody else can serve it."""
    lease: Lease | None = None
    ended_by: ApiError | None = None
    """Why the request is to end before it is complete: cancelled by an administrator, or a shutdown."""
    position: int = 0
    """Place in line that was last announced, from 1; 0 when it never waited."""
    on_move: Callable[[Ticket], None] = lambda ticket: None
    """Called when the announced position changes."""


class TicketQueue:
    """Waiting tickets in order."""

    def __init__(self) -> None:
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._lanes: dict[Requirement, OrderedDict[str, Ticket]] = {}
        self._first = 0
        self._last = 0

    def __len__(self) -> int:
        return len(self._tickets)

    def __iter__(self) -> Iterator[Ticket]:
        """All tickets, the earliest first."""
        return iter(self._tickets.values())

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket.id in self._tickets

    @property
    def requirements(self) -> list[Requirement]:
        """What is being waited for."""
        return list(self._lanes)

    def lane(self, requirement: Requirement) -> list[Ticket]:
        """The tickets with that requirement, the earliest first."""
        return list(self._lanes.get(requirement, {}).values())

    def push_back(self, ticket: Ticket) -> None:
        """Add at the end."""
        self._last += 1
        ticket.sequence = self._last
        self._tickets[ticket.id] = ticket
        self._lanes.setdefault(ticket.requirement, OrderedDict())[ticket.id] = ticket

    def push_front(self, ticket: Ticket) -> None:
        """Add before everybody."""
        self._first -= 1
        ticket.sequence = self._first
        lane = self._lanes.setdefault(ticket.requirement, OrderedDict())
        for line in (self._tickets, lane):
            line[ticket.id] = ticket
            line.move_to_end(ticket.id, last=False)

    def remove(self, ticket: Ticket) -> bool:
        """Take out, from anywhere. False when it is not waiting."""
        if self._tickets.pop(ticket.id, None) is None:
            return False
        lane = self._lanes[ticket.requirement]
        del lane[ticket.id]
        if not lane:
            del self._lanes[ticket.requirement]
        return True

    def first(
        self, can_serve: Callable[[Requirement], bool], may_take: Callable[[Ticket], bool]
    ) -> Ticket | None:
        """The earliest ticket of the lanes that `can_serve` among those that `may_take`."""
        heads = (
            next((ticket for ticket in lane.values() if may_take(ticket)), None)
            for requirement, lane in self._lanes.items()
            if can_serve(requirement)
        )
        return min(
            (head for head in heads if head is not None), key=lambda ticket: ticket.sequence, default=None
        )
