"""A clip that can be resumed is spoken on one connection at a time: the latest that asked for it.

    async with successions.take_over(writer, interruption):
        ...                                             # whoever spoke the same clip has left

A listener that comes back may be sooner than the news that its old connection is dead, and a token that is
sent again and again would otherwise hold as many places at the front of the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from weakref import WeakValueDictionary

from gateway.errors import ApiError
from gateway.streams.interruption import Interruption
from gateway.streams.resumption.token import TokenWriter


class Successions:
    """Who speaks which clip at this gateway."""

    def __init__(self) -> None:
        self._latest: dict[str, Interruption] = {}
        """By clip; of who speaks it, or waits for the one before to leave."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def take_over(
        self, writer: TokenWriter | None, interruption: Interruption
    ) -> AbstractAsyncContextManager[None]:
        """End who has the clip of `writer`, and be ended with `interruption` by who comes next."""
        return nullcontext() if writer is None else self._have(writer.clip_id, interruption)

    @asynccontextmanager
    async def _have(self, clip_id: str, interruption: Interruption) -> AsyncIterator[None]:
        if before := self._latest.get(clip_id):
            message = "the clip goes on where its resume token was sent last"
            before.end_with(ApiError(409, "resumed_elsewhere", message, param="resume_token"))
        self._latest[clip_id] = interruption
        try:
            async with self._locks.setdefault(clip_id, asyncio.Lock()):
                yield
        finally:
            if self._latest.get(clip_id) is interruption:
                del self._latest[clip_id]
