"""The waiting line of the gateway: who is next when a worker has room.

    requests that lost their worker here, the earliest first
    interactive, default, bulk: strictly one class before the next
        tenants in turns (`gateway/slots/line/fairness.py`)
            clips that the tenant resumes, then first come, first served

Bulk ages: once a bulk request has waited for `ageing_seconds`, every other slot that frees goes to bulk,
so that a saturated higher class delays it and doesn't starve it.

A ticket that waits for one model never blocks tickets for another: a worker takes the first ticket that it
can serve. Push, remove and take are O(log n) in the number of waiting tickets.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator

from gateway.slots.line.fairness import FairLine
from gateway.slots.line.standing import Priority
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement

Rank = tuple[int, float, int, bool]
"""Place in line of a ticket that could be taken; the lowest goes first."""


class TicketQueue:
    """Waiting tickets in order."""

    def __init__(self, ageing_seconds: float = 30.0) -> None:
        self._ageing_seconds = ageing_seconds
        self._front: list[Ticket] = []
        self._classes = {priority: FairLine() for priority in Priority}
        self._arrivals = 0
        self._bulk_owes = False
        """The last ticket went to aged bulk: the next one goes by class."""

    def __len__(self) -> int:
        return len(self._front) + sum(map(len, self._classes.values()))

    def __iter__(self) -> Iterator[Ticket]:
        """All tickets in the order of service; ageing is left out of account."""
        yield from self._front
        for line in self._classes.values():
            yield from line.in_order()

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket.waiting

    @property
    def requirements(self) -> list[Requirement]:
        """What is being waited for."""
        found = {ticket.requirement: None for ticket in self._front}
        for line in self._classes.values():
            found.update(dict.fromkeys(line.lanes))
        return list(found)

    def lane(self, requirement: Requirement) -> list[Ticket]:
        """The tickets with that requirement."""
        found = [ticket for ticket in self._front if ticket.requirement == requirement]
        for line in self._classes.values():
            if lane := line.lanes.get(requirement):
                found.extend(lane.tickets.values())
        return found

    def lane_length(self, requirement: Requirement) -> int:
        """How many tickets have that requirement."""
        lanes = (line.lanes.get(requirement) for line in self._classes.values())
        in_front = sum(ticket.requirement == requirement for ticket in self._front)
        return in_front + sum(len(lane.tickets) for lane in lanes if lane is not None)

    def push_back(self, ticket: Ticket) -> None:
        """Add a newcomer to its class."""
        self._arrivals += 1
        ticket.sequence = self._arrivals
        ticket.waiting = True
        self._classes[ticket.standing.priority].add(ticket)

    def push_front(self, ticket: Ticket) -> None:
        """Add a ticket that had a slot, before everybody who had none: first the clips that were begun."""
        if not ticket.sequence:
            self._arrivals += 1
            ticket.sequence = self._arrivals
        ticket.waiting = ticket.in_front = True
        bisect.insort(self._front, ticket, key=_front_order)

    def step_aside(self, ticket: Ticket) -> None:
        """Let a waiting ticket pass its turn until `step_back`."""
        in_front = ticket.in_front
        if self.remove(ticket):
            ticket.aside, ticket.in_front = True, in_front

    def step_back(self, ticket: Ticket) -> bool:
        """Have it wait again, before everybody who came later. False when it had not stepped aside."""
        if not ticket.aside:
            return False
        ticket.aside = False
        if ticket.in_front:
            self.push_front(ticket)
        else:
            ticket.waiting = True
            self._classes[ticket.standing.priority].add_again(ticket)
        return True

    def remove(self, ticket: Ticket) -> bool:
        """Take out, from anywhere. False when it is not waiting."""
        if not ticket.waiting:
            return False
        if ticket.in_front:
            self._front.remove(ticket)
        else:
            self._classes[ticket.standing.priority].remove(ticket)
        ticket.waiting = ticket.in_front = False
        return True

    def take(self, ticket: Ticket, rank: Rank) -> None:
        """Take out the ticket that gets a slot. Its tenant is charged at the first time.

        Not for one whose wait was just given up: it will get no slot.
        """
        if ticket.in_front or ticket.future.done():
            self.remove(ticket)
            return
        self._classes[ticket.standing.priority].serve(ticket)
        self._bulk_owes = rank[0] == _AGED
        ticket.waiting = False

    def first(
        self, can_serve: Callable[[Requirement], bool], may_take: Callable[[Ticket], bool], now: float
    ) -> tuple[Rank, Ticket] | None:
        """The ticket that is next among those that `can_serve`, with its rank.

        `may_take` is asked about tickets that were on a worker before.
        """
        for place, ticket in enumerate(self._front):
            if can_serve(ticket.requirement) and may_take(ticket):
                return (_FRONT, 0.0, place, False), ticket
        if not self._bulk_owes and (aged := self._first_of(Priority.BULK, _AGED, can_serve, now)):
            return aged
        for band, priority in enumerate(self._classes):
            if found := self._first_of(priority, band, can_serve):
                return found
        return None

    def _first_of(
        self,
        priority: Priority,
        band: int,
        can_serve: Callable[[Requirement], bool],
        aged_at: float | None = None,
    ) -> tuple[Rank, Ticket] | None:
        """The next ticket of a class; with `aged_at`, of the lanes where one has waited too long by then."""
        best: tuple[Rank, Ticket] | None = None
        for requirement, lane in self._classes[priority].lanes.items():
            if not can_serve(requirement):
                continue
            if aged_at is not None:
                oldest = next(iter(lane.tickets.values()))
                if aged_at - oldest.enqueued_at < self._ageing_seconds:
                    continue
            if head := lane.head():
                turn, ticket = head
                rank = (band, turn, ticket.sequence, not ticket.begun)
                if best is None or rank < best[0]:
                    best = rank, ticket
        return best

    def settle(self, ticket: Ticket) -> None:
        """The ticket has ended: correct the charge to its tenant by what was really delivered."""
        if ticket.share is not None and ticket.attempts:
            standing = ticket.standing
            ticket.share.charge((ticket.audio_seconds - standing.audio_seconds) / standing.weight)

    def place(self, ticket: Ticket) -> int:
        """Position of a ticket that has just been added, from 1, not counting every turn of other tenants.

        Exact with one tenant, or when the others have as many tickets before it as it has itself.
        """
        if ticket.in_front:
            return self._front.index(ticket) + 1
        ahead = len(self._front)
        for priority, line in self._classes.items():
            if priority is ticket.standing.priority:
                own = line.place_of(ticket)
                others = len(line) - line.waiting_of(ticket.standing.tenant)
                return ahead + own + min(others, own * (line.tenants - 1))
            ahead += len(line)
        return ahead + 1

    def displaced_by(self, ticket: Ticket, max_length: int) -> Ticket:
        """Who must go when there is one too many because `ticket` came.

        In the lowest class the latest ticket of the tenant with the longest line; `ticket` itself when nobody
        has a lesser claim. Bulk has a right to an eighth of the queue: who is turned away cannot age.
        """
        standing = ticket.standing
        bulk = self._classes[Priority.BULK]
        bulk_may_stay = len(bulk) <= max_length // _BULK_SHARE
        for priority in reversed(Priority):
            line = self._classes[priority]
            latest = line.latest_of_longest()
            if latest is None or (priority is Priority.BULK and bulk_may_stay):
                continue
            if priority is standing.priority:
                longest = line.waiting_of(latest.standing.tenant)
                return latest if longest > line.waiting_of(standing.tenant) else ticket
            if standing.priority.exceeds(priority) or standing.priority is Priority.BULK:
                return latest
            return ticket
        return ticket


_BULK_SHARE = 8
_FRONT, _AGED = -2, -1


def _front_order(ticket: Ticket) -> tuple[bool, int]:
    return ticket.requirement.revision is None, ticket.sequence
