"""The lease: the only way to hold a slot of a worker. `gateway/pool.py` grants and takes them back."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.queue import Ticket
from gateway.workers import Worker


@dataclass(frozen=True, eq=False)
class Lease:
    """The right to one slot. `epoch` counts the leases of its ticket and fences off earlier ones."""

    id: str
    epoch: int
    worker: Worker
    ticket: Ticket
    granted_at: float
