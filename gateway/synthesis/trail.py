"""Where a request was: what leads from a line of the gateway's log to the lines of its workers."""

from __future__ import annotations

from collections import deque

_MOST_TICKETS = 16
"""Of a live session, which waits anew after each rest, the last."""


class Trail:
    """The tickets of a request, with which its ids at the workers begin, and the workers that it came to."""

    def __init__(self) -> None:
        self._tickets: deque[str] = deque(maxlen=_MOST_TICKETS)
        self._workers: dict[str, None] = {}

    def waits(self, ticket_id: str) -> None:
        """It waits for a slot, again or for the first time."""
        if ticket_id not in self._tickets:
            self._tickets.append(ticket_id)

    def came_to(self, worker_id: str) -> None:
        """It has a slot there."""
        self._workers[worker_id] = None

    def describe(self) -> dict[str, list[str]]:
        """Both, each in the order in which they came, for the log."""
        return {"tickets": list(self._tickets), "workers": list(self._workers)}
