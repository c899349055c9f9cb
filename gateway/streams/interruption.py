"""Ending what the current task awaits from elsewhere, with an exception that says why.

    interruption = Interruption()
    watcher = asyncio.create_task(watch(interruption))     # calls interruption.end_with(ClientGoneError())
    async with interruption:
        await work()                                       # is cancelled; the block raises ClientGoneError

The work stays in its own task: no second one is needed for it, and none to wait for both.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Self


class Interruption:
    """An `async with` block that others may end. The first to do so decides on the exception."""

    __slots__ = ("_cancelled_before", "_cause", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._cause: Exception | None = None
        self._cancelled_before = 0

    def end_with(self, cause: Exception) -> None:
        """Cancel what the block awaits and make it raise `cause`. Without effect outside of the block."""
        if self._task is not None and self._cause is None:
            self._cause = cause
            self._task.cancel()

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        self._cancelled_before = self._task.cancelling()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        cause, self._cause = self._cause, None
        try:
            if cause is None:
                return
            heard = kind is asyncio.CancelledError
            if not heard:  # the block ended before it awaited anything: what comes next would be cancelled
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            if task.uncancel() <= self._cancelled_before:
                raise cause from None
            if not heard:
                raise asyncio.CancelledError
        finally:
            del cause, error, trace  # the exception holds this frame, which must not hold the exception
