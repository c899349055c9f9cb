"""Telling waiting requests where they stand, when it changes and not more often than is of use.

Near the head every step counts and is told within a tenth of a second. Far from it a ticket hears of steps of
a tenth of its place, at most once a second: on the way from place 10,000 to the head that is about a hundred
messages, and a queue that moves does not make the whole of it talk. Longer queues are looked at less often,
so that telling positions takes a few percent of the event loop at most.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from gateway.slots.line.queue import TicketQueue
from gateway.slots.line.tickets import Ticket

CallLater = Callable[[float, Callable[[], None]], object]

NEAR_HEAD = 32
_NEAR_HEAD_SECONDS = 0.1
_WHOLE_QUEUE_SECONDS = 1.0
_SECONDS_PER_TICKET = 3e-5
_FAR_MOVE = 0.9


def call_later(delay_seconds: float, callback: Callable[[], None]) -> object:
    """The event loop's; tests turn a clock of their own."""
    return asyncio.get_running_loop().call_later(delay_seconds, callback)


class PositionAnnouncer:
    """Keeps `Ticket.position` and calls `Ticket.on_move`."""

    def __init__(self, queue: TicketQueue, call_later: CallLater) -> None:
        self._queue = queue
        self._call_later = call_later
        self._near_is_due = False
        self._all_is_due = False

    def queue_changed(self) -> None:
        """Announce soon; calls in between are bundled."""
        if self._queue and not self._near_is_due:
            self._near_is_due = True
            delay_seconds = max(_NEAR_HEAD_SECONDS, len(self._queue) * _SECONDS_PER_TICKET)
            self._call_later(delay_seconds, self._announce_near_head)
        if len(self._queue) > NEAR_HEAD and not self._all_is_due:
            self._all_is_due = True
            self._call_later(_WHOLE_QUEUE_SECONDS, self._announce_far)

    def outlook_changed(self) -> None:
        """Tell those near the head at once, though they did not move: their estimate did."""
        for ticket in itertools.islice(self._queue, NEAR_HEAD):
            ticket.on_move(ticket)

    def _announce_near_head(self) -> None:
        self._near_is_due = False
        for position, ticket in enumerate(itertools.islice(self._queue, NEAR_HEAD), start=1):
            if position != ticket.position:
                self._announce(ticket, position)

    def _announce_far(self) -> None:
        self._all_is_due = False
        for position, ticket in enumerate(self._queue, start=1):
            if position > NEAR_HEAD and not _FAR_MOVE * ticket.position < position <= ticket.position:
                self._announce(ticket, position)

    def _announce(self, ticket: Ticket, position: int) -> None:
        ticket.position = position
        ticket.on_move(ticket)
