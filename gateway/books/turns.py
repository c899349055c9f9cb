"""Whole books are read and written one after the other: each has up to 10,000 blocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from gateway.errors import ApiError

WAIT_SECONDS = 30.0
"""For a turn. The database may be stuck, and then all who ask would wait for each other."""


class OwnersTurns:
    """Work that would hold up everybody if much of it were done at once.

    One owner's waits for the one before it, and the owners take turns.
    """

    def __init__(self) -> None:
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._all = asyncio.Lock()

    @asynccontextmanager
    async def take(self, owner: str) -> AsyncIterator[None]:
        """A turn of `owner`, for as long as the block lasts. Raises ApiError 503 where it comes too late."""
        own = self._own.setdefault(owner, asyncio.Lock())
        async with AsyncExitStack() as turn:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await turn.enter_async_context(own)
                    await turn.enter_async_context(self._all)
            except TimeoutError:
                message = "too many requests for whole books are being answered"
                raise ApiError(503, "busy", message, retry_after_seconds=5) from None
            yield
