"""Whose turn it is when several gateways want slots of this worker.

`worker.protocol.slot_messages` says how they ask.

Each gateway is a `Party`. Slots are in one of four states: used by a request, kept by a lease without one,
granted, or free. When a slot is free and at least two gateways wait, it is granted to the one whose last slot
is the longest ago. So they take turns, whatever each has in line, and nobody is passed over for ever. No
grant is made while one gateway waits alone: it takes what is free.

Plain rules on one event loop, without sockets.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Protocol

from worker.protocol.slot_messages import GRANT_SECONDS, Grant, SlotClaim, Standing

CallLater = Callable[[float, Callable[[], None]], object]
Outlet = Callable[[Grant | Standing], None]
"""Where a gateway hears from the worker. Never waits."""


_MOST_OVER = 1000
"""Leases of one gateway that are over, and whose requests may still come."""


class NoSlotError(Exception):
    """All are used, or promised to others."""


class Hold(Protocol):
    """A slot in use by one request."""

    def release(self) -> None:
        """The request has ended. Does nothing the second time."""


class Party:
    """One gateway that asks for slots."""

    def __init__(self) -> None:
        self.outlet: Outlet | None = None
        """None while it has no socket about slots: then it cannot wait, keep or be granted anything."""
        self.waiting = 0
        self.requests = 0
        """Requests that run in slots which nobody keeps."""
        self.kept: dict[str, bool] = {}
        """Leases that keep a slot, and whether a request runs in it."""
        self.over: deque[str] = deque(maxlen=_MOST_OVER)
        """Leases that were given back before anything was heard of them: the socket about slots may be faster
        than the one of a request, and what came late would keep its slot for ever."""
        self.grants: set[int] = set()
        self.last_turn = 0
        self.told: Standing | None = None

    @property
    def slots(self) -> int:
        """How many it has, granted ones included."""
        return self.requests + len(self.kept) + len(self.grants)


class Turns:
    """The slots of one worker, and the gateways that share them."""

    def __init__(
        self, slots: int, call_later: CallLater, call_soon: Callable[[Callable[[], None]], object]
    ) -> None:
        self.open = True
        """Whether slots are given out; not while the worker drains."""
        self._slots = slots
        self._call_later = call_later
        self._call_soon = call_soon
        self._parties: dict[str | None, Party] = {}
        self._turns = itertools.count(1)
        self._numbers = itertools.count(1)
        self._news_due = False

    @property
    def free(self) -> int:
        """Slots that nobody uses, keeps or was granted."""
        return self._slots - sum(party.slots for party in self._parties.values())

    @property
    def gateways(self) -> int:
        """How many have a socket about slots."""
        return sum(party.outlet is not None for party in self._parties.values())

    def join(self, gateway: str, outlet: Outlet) -> Party:
        """A gateway has opened its socket; an older one of the same name is over."""
        if (former := self._parties.get(gateway)) is not None:
            self.leave(gateway, former.outlet)
        party = self._party(gateway)
        party.outlet, party.told = outlet, None
        self._changed()
        return party

    def leave(self, gateway: str, outlet: Outlet | None) -> None:
        """The socket is gone: so are turns, grants and what was kept. Requests that run end by themselves.

        Does nothing for a socket that has been replaced.
        """
        party = self._parties.get(gateway)
        if party is None or outlet is None or party.outlet is not outlet:
            return
        party.outlet, party.waiting = None, 0
        party.grants.clear()
        party.requests += sum(party.kept.values())
        party.kept.clear()
        self._forget_if_empty(gateway)
        self._changed()

    def wait(self, party: Party, requests: int) -> None:
        """The gateway has so many requests in line."""
        party.waiting = requests
        self._changed()

    def take(self, gateway: str | None, claim: SlotClaim | None = None) -> Hold:
        """A slot for a request. Raises NoSlotError."""
        party = self._party(gateway)
        lease = None if claim is None or party.outlet is None or claim.lease in party.over else claim.lease
        if party.kept.get(lease):  # the request before it has not ended yet
            lease = None
        if lease is not None and party.kept.get(lease) is False:
            del party.kept[lease]
        elif claim is not None and claim.grant in party.grants:
            party.grants.discard(claim.grant)
        elif self.free <= 0:
            self._forget_if_empty(gateway)
            raise NoSlotError
        if lease is not None and claim.keep:
            party.kept[lease] = True
        else:
            party.requests += 1
        party.last_turn = next(self._turns)
        self._changed()
        return _Hold(self, gateway, party, lease)

    def keep(self, party: Party, lease: str, grant: int | None) -> None:
        """The gateway uses a slot without a request; nothing happens when none is left for it."""
        if lease in party.kept:
            return
        if grant in party.grants:
            party.grants.discard(grant)
        elif self.free <= 0:
            return
        party.kept[lease] = False
        party.last_turn = next(self._turns)
        self._changed()

    def give_back(self, party: Party, lease: str | None, grant: int | None) -> None:
        """The lease is over, the grant is not needed: nobody waits who could use it, unless it says so."""
        if grant in party.grants:
            party.grants.discard(grant)
            party.waiting = 0
        if lease in party.kept:
            party.requests += party.kept.pop(lease)
        elif lease is not None:
            party.over.append(lease)
        self._changed()

    def released(self, gateway: str | None, party: Party, lease: str | None) -> None:
        """For `Hold.release`."""
        if lease is not None and party.kept.get(lease):
            party.kept[lease] = False
        else:
            party.requests -= 1
            self._forget_if_empty(gateway)
        self._changed()

    def reopen(self, is_open: bool) -> None:
        """Give slots out, or not."""
        self.open = is_open
        self._changed()

    # ------------------------------------------------------------------------------------------------ within

    def _party(self, gateway: str | None) -> Party:
        return self._parties.setdefault(gateway, Party())

    def _forget_if_empty(self, gateway: str | None) -> None:
        party = self._parties.get(gateway)
        if party is not None and party.outlet is None and not party.slots:
            del self._parties[gateway]

    def _changed(self) -> None:
        self._deal()
        if not self._news_due:
            self._news_due = True
            self._call_soon(self._tell_news)

    def _deal(self) -> None:
        """Grant what is free, one slot after the other."""
        waiting = [party for party in self._parties.values() if party.waiting]
        free = self.free
        while self.open and free > 0 and len(waiting) > 1:
            able = [party for party in waiting if party.waiting > len(party.grants)]
            if not able:
                return
            self._grant(min(able, key=lambda party: party.last_turn))
            free -= 1

    def _grant(self, party: Party) -> None:
        number = next(self._numbers)
        party.grants.add(number)
        party.last_turn = next(self._turns)
        self._call_later(GRANT_SECONDS, lambda: self._expire(party, number))
        party.outlet(Grant(number=number))

    def _expire(self, party: Party, number: int) -> None:
        if number in party.grants:
            self.give_back(party, None, number)

    def _tell_news(self) -> None:
        """Tell each gateway of the others, if that is news to it."""
        self._news_due = False
        used = sum(party.slots for party in self._parties.values())
        waiting = sum(party.waiting > 0 for party in self._parties.values())
        for party in list(self._parties.values()):
            standing = Standing(others=max(0, used - party.slots), waiting=waiting - (party.waiting > 0))
            if party.outlet is not None and standing != party.told:
                party.told = standing
                party.outlet(standing)


class _Hold:
    def __init__(self, turns: Turns, gateway: str | None, party: Party, lease: str | None) -> None:
        self._turns: Turns | None = turns
        self._gateway, self._party, self._lease = gateway, party, lease

    def release(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.released(self._gateway, self._party, self._lease)
