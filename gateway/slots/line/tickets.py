"""An admitted request (`Ticket`), the tenant it counts against (`Share`) and its right to a slot (`Lease`).

`gateway/slots/pool.py` admits tickets and grants leases; `gateway/slots/line/fairness.py` charges shares.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from worker.protocol import SlotClaim

Line = OrderedDict[str, "Ticket"]
"""Waiting tickets by id, the earliest first."""


class Share:
    """One tenant in one class."""

    __slots__ = ("correction", "idle", "resumed", "tenant", "tickets", "turn")

    def __init__(self, tenant: str, turn: float) -> None:
        self.tenant = tenant
        self.turn = turn
        self.correction = 0.0
        """Charged, or given back, with the next ticket; it may not make `turn` fall."""
        self.tickets: Line = OrderedDict()
        """The tenant's waiting tickets of all lanes, the earliest first."""
        self.resumed = 0
        """How many of them are resumed clips; these go first."""
        self.idle = False
        """Whether the class has it among those that it looks through as turns go on."""

    def in_order(self) -> list[Ticket]:
        """The waiting tickets as they are served."""
        return sorted(self.tickets.values(), key=lambda ticket: not ticket.begun)

    def charge(self, seconds: float) -> None:
        """Count audio against the tenant."""
        self.correction += seconds
        self.turn += max(0.0, self.correction)
        self.correction = min(0.0, self.correction)


@dataclass(eq=False, slots=True)
class Ticket:
    """One admitted request: it waits while `future` is pending and runs while it holds a `lease`."""

    id: str
    request_id: str
    requirement: Requirement
    enqueued_at: float
    future: asyncio.Future[Lease]
    standing: Standing = field(default_factory=Standing)
    about: About = field(default_factory=About)
    sequence: int = 0
    """Order of arrival; of a clip that is resumed, that of its client's first waiting ticket."""
    attempts: int = 0
    """Leases granted so far; the number of the last is its epoch."""
    excluded: frozenset[str] = frozenset()
    """Ids of workers that failed this request; used again only when nobody else can serve it."""
    lease: Lease | None = None
    ended_by: ApiError | None = None
    """Why the request is to end before it is complete: cancelled by an administrator, or a shutdown."""
    position: int = 0
    """Place in line that was last announced, from 1; 0 when it never waited."""
    on_move: Callable[[Ticket], None] = lambda ticket: None
    """Called when the announced position changes."""
    share: Share | None = None
    """Its tenant's, once it has waited in a class."""
    audio_seconds: float = 0.0
    """What was delivered of it, of a live session at least the time in its slot; corrects the charge to its
    tenant when it ends.
    """
    mode: str = "clip"
    """What its slot is used for: a clip, or a live session that is active or paused."""
    on_end: Callable[[ApiError], None] = lambda reason: None
    """Called when the request is to end; a relay notices by itself."""
    begun: bool = False
    """A clip that was begun before it was admitted: a client resumes it."""
    heard: bool = False
    """Its first audio came."""
    waiting: bool = False
    aside: bool = False
    """Out of line for a while, and about to come back to its place."""
    in_front: bool = False
    """It waits ahead of all classes."""


@dataclass(frozen=True, eq=False)
class Lease:
    """The right to one slot: the only way to hold one.

    `epoch` counts the leases of its ticket and fences off earlier ones.
    """

    id: str
    epoch: int
    worker: Worker
    ticket: Ticket
    granted_at: float

    def claim(self, keep: bool = False) -> SlotClaim | None:
        """For a request to the worker; `keep`: another one follows."""
        return self.worker.sharing.claim(self.id, keep)

    def keep(self) -> None:
        """Have the slot kept while no request runs in it."""
        self.worker.sharing.keep(self.id)

    @property
    def mode(self) -> str:
        """What the slot is used for, see `Ticket.mode`."""
        return self.ticket.mode
