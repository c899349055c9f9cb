"""Requests that read or write whole books, or search sessions, come one by one: owners take turns."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from gateway.errors import ApiError

WAIT_SECONDS = 30.0
"""For a turn. The database may be stuck, and then all who ask would wait for each other."""
LONGEST_LINE_SECONDS = 15.0
"""As expected, of blocks of one owner: far less than the wait, which may turn out to be longer."""
_FIRST_GUESS_SECONDS = 1e-4
"""For a block."""
_FEWEST_BLOCKS = 100
"""Of a turn by which the pace is told: one of few takes as long as without any."""


class OwnersTurns:
    """Work that would hold up everybody if much of it were done at once.

    One owner's waits for the one before it, and the owners take turns.
    """

    def __init__(self, busy: str) -> None:
        """`busy`: what who comes too late is told."""
        self._message = busy
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._all = asyncio.Lock()
        self._blocks: Counter[str] = Counter()
        """By owner, those that wait or are being written."""
        self._pace_seconds = _FIRST_GUESS_SECONDS

    @asynccontextmanager
    async def take(self, owner: str, blocks: int = 0) -> AsyncIterator[None]:
        """A turn of `owner`, for as long as the block lasts, in which so many blocks of a book are written.

        Raises ApiError 503: at once where the owner's line is long, or where the turn comes too late.
        """
        own = self._own.setdefault(owner, asyncio.Lock())
        async with AsyncExitStack() as turn:
            turn.enter_context(self._in_line(owner, blocks))
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await turn.enter_async_context(own)
                    await turn.enter_async_context(self._all)
            except TimeoutError:
                raise self._busy(self._seconds_before(owner)) from None
            began_at = time.monotonic()
            yield
            if blocks >= _FEWEST_BLOCKS:
                self._pace_seconds += ((time.monotonic() - began_at) / blocks - self._pace_seconds) / 2

    @contextmanager
    def _in_line(self, owner: str, blocks: int) -> Iterator[None]:
        if not blocks:
            yield
            return
        if (seconds := self._seconds_before(owner)) > LONGEST_LINE_SECONDS:
            raise self._busy(seconds)
        self._blocks[owner] += blocks
        try:
            yield
        finally:
            self._blocks[owner] -= blocks
            if not self._blocks[owner]:
                del self._blocks[owner]

    def _seconds_before(self, owner: str) -> float:
        """Until a turn of `owner`, by what is to be written before: of others, a turn for each of its own."""
        own = self._blocks[owner]
        return self._pace_seconds * min(own * len(self._blocks), self._blocks.total())

    def _busy(self, seconds: float) -> ApiError:
        return ApiError(503, "busy", self._message, retry_after_seconds=max(5, math.ceil(seconds)))
