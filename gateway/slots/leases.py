"""How a slot is given to a ticket, and given back."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from gateway.slots.capacity.groups import Groups
from gateway.slots.capacity.outlooks import Outlooks
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Lease, Ticket


class Leases:
    """Begins leases and ends them; whose turn it is, others decide."""

    def __init__(self, groups: Groups, outlooks: Outlooks, clock: Callable[[], float]) -> None:
        self._groups, self._outlooks, self._clock = groups, outlooks, clock
        self._numbers = itertools.count(1)

    def grant(self, ticket: Ticket, worker: Worker) -> None:
        """A slot of the worker is the ticket's from now on."""
        ticket.attempts += 1
        lease = Lease(f"l_{next(self._numbers)}", ticket.attempts, worker, ticket, self._clock())
        worker.leases[lease.id] = lease
        worker.sharing.leased(lease.id)
        self._groups.touch(worker)
        ticket.lease = lease
        self._outlooks.changed()
        ticket.future.set_result(lease)

    def give_back(self, lease: Lease) -> bool:
        """Whether the lease was in force until now."""
        lease.worker.sharing.ended(lease.id)
        in_force = lease.worker.leases.pop(lease.id, None) is not None
        self._groups.touch(lease.worker)
        return in_force
