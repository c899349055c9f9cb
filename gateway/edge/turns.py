"""How much of what clients send is read before everybody else has a turn.

A message is parsed and obeyed without a pause. A hundred of each of a hundred sockets, which arrive at once,
would be so together, and nobody would hear anything meanwhile. Requests that begin at once are the same. Who
sends much waits for itself: addresses take turns.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque

MOST_BYTES = 1 << 16
"""In one turn of the event loop, but for a single message that is larger."""
MESSAGE_BYTES = 1 << 10
"""What a message counts beside its length."""
BEGUN_BYTES = 1 << 13
"""What a request counts that begins: it is looked up, checked and answered."""
WHOSE = "turns_of"
"""In the state of a scope: the address whose turns it takes."""
_RESTS = 4
"""Turns of the event loop behind a message that was larger: a request of somebody else takes several."""


class Turns:
    """Those who have something to be read: addresses take turns, each in the order of its own."""

    def __init__(self) -> None:
        self._left = MOST_BYTES
        self._waiting: OrderedDict[str, deque[tuple[int, asyncio.Future[None]]]] = OrderedDict()
        self._rests = 0
        """Turns of the event loop until the next one; 0 where none is to come."""

    async def take(self, length: int, whose: str) -> None:
        """Wait until a message of this length of that address may be read, which is mostly at once."""
        cost = MESSAGE_BYTES + length
        if not self._waiting and self._has_room(cost):
            self._spend(cost)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(whose, deque()).append((cost, turn))
        await turn

    def _has_room(self, cost: int) -> bool:
        return cost <= self._left or self._left == MOST_BYTES

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if not self._rests:
            asyncio.get_running_loop().call_soon(self._next)
        self._rests = max(self._rests, 1 if cost <= MOST_BYTES else _RESTS)

    def _next(self) -> None:
        self._rests -= 1
        if self._rests:
            asyncio.get_running_loop().call_soon(self._next)
            return
        self._left = MOST_BYTES
        while self._waiting:
            whose, own = next(iter(self._waiting.items()))
            cost, turn = own[0]
            if not self._has_room(cost):
                return
            own.popleft()
            self._waiting.move_to_end(whose)
            if not own:
                del self._waiting[whose]
            if not turn.done():  # it is, of a client that has left
                turn.set_result(None)
                self._spend(cost)
