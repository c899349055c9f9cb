"""Whole books are read and written one after the other: each has up to 10,000 blocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class OwnersTurns:
    """Work that would hold up everybody if much of it were done at once.

    One owner's waits for the one before it, and the owners take turns.
    """

    def __init__(self) -> None:
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._all = asyncio.Lock()

    @asynccontextmanager
    async def take(self, owner: str) -> AsyncIterator[None]:
        """A turn of `owner`, for as long as the block lasts."""
        async with self._own.setdefault(owner, asyncio.Lock()), self._all:
            yield
