"""The slots of a worker that other gateways use too, as far as this gateway knows of them.

`gateway/workers/slot_watch.py` keeps the socket over which the worker tells; without one nothing is known,
and a slot that is not there is found out by asking for it. `worker.protocol.slot_messages` has the rules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from worker.protocol import GiveBack, Keep, SlotClaim, Waiting

Say = Callable[[Waiting | Keep | GiveBack], None]


class Sharing:
    """What this gateway knows of the use that others make of one worker."""

    def __init__(self) -> None:
        self.others = 0
        """Slots that other gateways use or were granted."""
        self.waiting = 0
        """Other gateways with requests in line. While there is one, slots are taken by grants alone."""
        self._grants: deque[int] = deque()
        self._say: Say | None = None
        self._asked = 0
        self._claims: dict[str, int | None] = {}
        """Leases that the worker may know of, and the grants they were given by."""
        self._over: list[str] = []
        """Leases of those that ended while there was no socket."""
        self._kept: set[str] = set()
        """Leases that hold their slots without a request."""
        self.doubtful = False
        """The worker refused what should have had a slot: its next word is waited for."""

    @property
    def open(self) -> bool:
        """Whether the worker is being talked with."""
        return self._say is not None

    def opened(self, say: Say) -> None:
        """There is a socket now."""
        self.closed()
        self._say = say
        for lease in self._kept:
            self._claims[lease] = None
            self._tell(Keep(lease=lease))
        for lease in self._over:
            self._tell(GiveBack(lease=lease))
        self._over.clear()

    def closed(self) -> None:
        """The socket is gone, and what was said over it is void. Requests that were sent may still arrive."""
        self.others = self.waiting = self._asked = 0
        self.doubtful = False
        self._grants.clear()
        self._claims = dict.fromkeys(self._claims)
        self._say = None

    def room(self, free: int) -> int:
        """How many of the slots that this gateway does not use itself it may take now."""
        granted = min(free, len(self._grants))
        return granted if self.waiting or self.doubtful else max(granted, free - self.others)

    def stood(self, others: int, waiting: int) -> None:
        """The worker said so."""
        self.others, self.waiting = others, waiting
        self.doubtful = False

    def granted(self, number: int) -> None:
        """A slot is kept free for this gateway."""
        self._grants.append(number)

    def return_unused(self) -> None:
        """Nobody here has a use for what was granted just now."""
        while self._grants:
            self._asked = 0  # as the worker sees it, too
            self._tell(GiveBack(grant=self._grants.popleft()))

    def ask(self, requests: int) -> None:
        """So many requests wait for this worker; told when it is news."""
        if self._say is not None and requests != self._asked:
            self._asked = requests
            self._tell(Waiting(requests=requests))

    def ask_again(self) -> None:
        """In case that the worker thinks otherwise by now: a grant ran out, a request was refused."""
        if self._asked:
            self._tell(Waiting(requests=self._asked))

    def leased(self, lease: str) -> None:
        """A lease was given out, by a grant if there is one."""
        if self._grants:
            self._claims[lease] = self._grants.popleft()

    def keep(self, lease: str) -> None:
        """The lease holds its slot while no request runs in it."""
        self._kept.add(lease)
        if self._say is not None:
            self._claims.setdefault(lease, None)
            self._tell(Keep(lease=lease, grant=self._claims[lease]))

    def claim(self, lease: str, keep: bool) -> SlotClaim | None:
        """What a request of the lease says; `keep`: others follow it. None where nobody would understand."""
        if self._say is None:
            return None
        grant = self._claims.get(lease)
        if keep:
            self._claims[lease] = grant
        return SlotClaim(lease=lease, grant=grant, keep=keep)

    def ended(self, lease: str) -> None:
        """The lease is over."""
        self._kept.discard(lease)
        if lease in self._claims:
            grant = self._claims.pop(lease)
            if self._say is None:
                self._over.append(lease)
            self._tell(GiveBack(lease=lease, grant=grant))

    def restarted(self) -> None:
        """The worker is a new process, in which no lease of before holds anything."""
        self._kept.clear()

    def _tell(self, message: Waiting | Keep | GiveBack) -> None:
        if self._say is not None:
            self._say(message)
