"""Every admitted ticket, waiting, running or between two attempts, and how many each client has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from gateway.slots.line.tickets import Ticket


class OpenTickets(dict[str, Ticket]):
    """Tickets that wait or run, by id."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: Counter[str] = Counter()
        """By tenant, but for those that accompany others."""
        self.elsewhere: Callable[[str], int] = lambda tenant: 0
        """Requests that a client with a limit has open at other gateways."""

    def open(self, ticket: Ticket) -> None:
        """A ticket is admitted."""
        self[ticket.id] = ticket
        self.streams[ticket.standing.tenant] += not ticket.standing.accompanies

    def count(self, ticket: Ticket) -> None:
        """What the ticket accompanied has ended: it counts by itself."""
        if ticket.standing.accompanies:
            ticket.standing = replace(ticket.standing, accompanies=False)
            self.streams[ticket.standing.tenant] += 1

    def close(self, ticket: Ticket) -> None:
        """A ticket has ended."""
        del self[ticket.id]
        tenant = ticket.standing.tenant
        self.streams[tenant] -= not ticket.standing.accompanies
        if not self.streams[tenant]:
            del self.streams[tenant]

    def of(self, tenant: str, begun: bool) -> int:
        """How many a client has: for a clip that was begun those here alone, since what another gateway
        tells, or told before it died, may be the same clip.

        Others are asked all the same: from then on they hear of this client.
        """
        elsewhere = self.elsewhere(tenant)
        return self.streams[tenant] + (0 if begun else elsewhere)
