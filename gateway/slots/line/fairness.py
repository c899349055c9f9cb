"""The waiting line of one priority class, in which tenants take turns by the audio they were served.

Every tenant with waiting requests has a `Share` whose `turn` counts the audio seconds charged to it, divided
by its weight; the tenant with the lowest turn goes next (start-time fair queueing). With clips of equal
length that is round-robin: A A A A, and then B B, are served A B A B A A. A tenant that comes back starts
from the turn of whoever was served last, so nobody saves up credit by staying away. Within a tenant clips
that it resumes go first, then it is first come, first served.

Requests that need different workers (`Requirement`) stand in different lanes, so that a head that waits for
one model blocks nobody else's, but a tenant has one share for all of them. A lane is a heap of shares whose
keys only grow; an outdated key is replaced when it comes up. Every operation is O(log tenants), except that a
ticket which stepped out of line comes back in O(tenants).
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from itertools import count

from gateway.slots.line.tickets import Line, Share, Ticket
from gateway.slots.requirement import Requirement

_SPARE_LINES = 64
"""Emptied ones that a lane may have beside those of its tickets, before it looks for them."""


class Lane:
    """The tickets of one class with one requirement."""

    def __init__(self) -> None:
        self.tickets: Line = OrderedDict()
        """By arrival."""
        self.lines: dict[Share, Line] = {}
        self._heap: list[tuple[float, int, int, Share]] = []
        self._entries = count()
        """A tenant that was forgotten meanwhile may come back with the key of its emptied line."""

    def add(self, ticket: Ticket, share: Share) -> None:
        """Append to the tenant's line. An emptied one is kept until its heap entry comes up, or many are."""
        line = self.lines.get(share)
        if line is None:
            line = self.lines[share] = OrderedDict()
            heapq.heappush(self._heap, self._entry(ticket, share))
        line[ticket.id] = self.tickets[ticket.id] = ticket

    def add_first(self, ticket: Ticket, share: Share) -> None:
        """Put before the others of the tenant, which takes O(tenants): the only key that may fall."""
        self.add(ticket, share)
        self.lines[share].move_to_end(ticket.id, last=False)
        self._heap = [entry for entry in self._heap if entry[-1] is not share]
        self._heap.append(self._entry(ticket, share))
        heapq.heapify(self._heap)

    def remove(self, ticket: Ticket, share: Share) -> None:
        """Take a ticket out, wherever it stands."""
        del self.tickets[ticket.id], self.lines[share][ticket.id]
        if len(self._heap) > 2 * len(self.tickets) + _SPARE_LINES:
            self._heap = [entry for entry in self._heap if self.lines[entry[-1]]]
            heapq.heapify(self._heap)
            self.lines = {share: self.lines[share] for *_, share in self._heap}

    def head(self) -> tuple[float, Ticket] | None:
        """The ticket that goes next, and the turn of its tenant."""
        while self._heap:
            turn, sequence, _, share = self._heap[0]
            line = self.lines[share]
            if not line:
                heapq.heappop(self._heap)
                del self.lines[share]
                continue
            ticket = next(iter(line.values()))
            if (turn, sequence) == (share.turn, ticket.sequence):
                return turn, ticket
            heapq.heapreplace(self._heap, self._entry(ticket, share))
        return None

    def _entry(self, ticket: Ticket, share: Share) -> tuple[float, int, int, Share]:
        return share.turn, ticket.sequence, next(self._entries), share


class FairLine:
    """The waiting tickets of one class."""

    def __init__(self) -> None:
        self.lanes: dict[Requirement, Lane] = {}
        self._shares: dict[str, Share] = {}
        self._idle: list[tuple[float, int, Share]] = []
        """Tenants without waiting tickets when they were put here, each once: kept while they are ahead."""
        self._idle_count = 0
        self._turn = 0.0
        """The turn of the tenant that was served last."""
        self._waiting = 0
        self._by_length = _ByLength()

    def __len__(self) -> int:
        return self._waiting

    @property
    def tenants(self) -> int:
        """How many tenants have waiting tickets."""
        return self._by_length.count

    def waiting_of(self, tenant: str) -> int:
        """How many tickets of the tenant wait."""
        share = self._shares.get(tenant)
        return len(share.tickets) if share else 0

    def place_of(self, ticket: Ticket) -> int:
        """Place of a ticket that has just been added among those of its tenant, from 1."""
        return ticket.share.resumed if ticket.begun else len(ticket.share.tickets)

    def add(self, ticket: Ticket) -> None:
        """Append the ticket to its tenant's line."""
        share = self._share_of(ticket)
        if ticket.begun and share.tickets:  # in its tenant's place, and not before other tenants
            ticket.sequence = next(iter(share.tickets.values())).sequence
        share.tickets[ticket.id] = ticket
        self.lanes.setdefault(ticket.requirement, Lane()).add(ticket, share)
        self._count(share, ticket)

    def add_again(self, ticket: Ticket) -> None:
        """Put a ticket that waited here before in front of its tenant's others, as early as it came."""
        share = self._share_of(ticket)
        if share.tickets:
            ticket.sequence = min(ticket.sequence, next(iter(share.tickets.values())).sequence)
        share.tickets[ticket.id] = ticket
        share.tickets.move_to_end(ticket.id, last=False)
        self.lanes.setdefault(ticket.requirement, Lane()).add_first(ticket, share)
        self._count(share, ticket)

    def _share_of(self, ticket: Ticket) -> Share:
        tenant = ticket.standing.tenant
        share = self._shares.get(tenant)
        if share is None:
            share = self._shares[tenant] = Share(tenant, self._turn)
        if not share.tickets:
            share.turn = max(share.turn, self._turn)
        return share

    def _count(self, share: Share, ticket: Ticket) -> None:
        ticket.share = share
        share.resumed += ticket.begun
        self._by_length.move(share, len(share.tickets) - 1, len(share.tickets))
        self._waiting += 1

    def remove(self, ticket: Ticket) -> None:
        """Take a waiting ticket out, from anywhere."""
        share = ticket.share
        lane = self.lanes[ticket.requirement]
        lane.remove(ticket, share)
        if not lane.tickets:
            del self.lanes[ticket.requirement]
        del share.tickets[ticket.id]
        share.resumed -= ticket.begun
        self._by_length.move(share, len(share.tickets) + 1, len(share.tickets))
        self._waiting -= 1
        if not self._waiting:
            self._forget_all()
        elif not share.tickets and not share.idle:
            self._remember(share)

    def serve(self, ticket: Ticket) -> None:
        """The ticket gets a slot: take it out and charge its tenant."""
        share = ticket.share
        self._turn = max(self._turn, share.turn)
        share.charge(ticket.standing.audio_seconds / ticket.standing.weight)
        self.remove(ticket)
        self._forget_idle()

    def in_order(self) -> Iterator[Ticket]:
        """The waiting tickets in the order in which they are served, if any worker can serve any of them."""
        heap = []
        for share in self._by_length.shares():
            tickets = iter(share.in_order())
            first = next(tickets)
            heap.append((share.turn, first.sequence, first, tickets))
        heapq.heapify(heap)
        while heap:
            turn, _, ticket, tickets = heap[0]
            yield ticket
            following = next(tickets, None)
            if following is None:
                heapq.heappop(heap)
            else:
                turn += ticket.standing.audio_seconds / ticket.standing.weight
                heapq.heapreplace(heap, (turn, following.sequence, following, tickets))

    def latest_of_longest(self) -> Ticket | None:
        """The last ticket of the tenant with the most waiting ones."""
        share = self._by_length.longest()
        if share is None:
            return None
        newest_first = reversed(share.tickets.values())
        if 0 < share.resumed < len(share.tickets):
            return next(ticket for ticket in newest_first if not ticket.begun)
        return next(newest_first)

    def _remember(self, share: Share) -> None:
        """Keep a tenant who waits no longer, while it is ahead."""
        share.idle = share.turn > self._turn
        if share.idle:
            self._idle_count += 1
            heapq.heappush(self._idle, (share.turn, self._idle_count, share))
        else:
            del self._shares[share.tenant]

    def _forget_idle(self) -> None:
        """Drop tenants of whom nothing needs to be remembered: they would start from `_turn` anyway."""
        while self._idle and self._idle[0][0] <= self._turn:
            _, _, share = heapq.heappop(self._idle)
            share.idle = False
            if not share.tickets:
                self._remember(share)

    def _forget_all(self) -> None:
        """Forget all tenants: nobody waits, so nobody is ahead."""
        self._shares.clear()
        self._idle.clear()
        self._turn = 0.0


class _ByLength:
    """Tenants by the number of their waiting tickets, for the longest in O(1)."""

    def __init__(self) -> None:
        self.count = 0
        self._buckets: dict[int, dict[Share, None]] = {}
        self._longest = 0

    def move(self, share: Share, before: int, after: int) -> None:
        """The tenant had `before` waiting tickets and now has `after`, one more or one less."""
        if before:
            del self._buckets[before][share]
            if not self._buckets[before]:
                del self._buckets[before]
        if after:
            self._buckets.setdefault(after, {})[share] = None
        self.count += (before == 0) - (after == 0)
        self._longest = max(self._longest, after)
        if self._longest not in self._buckets:
            self._longest = after

    def longest(self) -> Share | None:
        """One of the tenants with the most waiting tickets."""
        bucket = self._buckets.get(self._longest)
        return next(reversed(bucket)) if bucket else None

    def shares(self) -> Iterator[Share]:
        """The shares of all tenants that wait."""
        for bucket in self._buckets.values():
            yield from bucket
