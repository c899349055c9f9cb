"""Work that must not stop halfway, whatever happens to who asked for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def to_its_end(change: Coroutine[Any, Any, Result]) -> Result:
    """Work that is whole, and waited for, also when its caller is cancelled, however often.

    A transaction that is broken off, for one, may keep SQLite's lock.
    """
    task = asyncio.create_task(change)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ended = asyncio.gather(task, return_exceptions=True)
        while not ended.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({ended})
        raise
