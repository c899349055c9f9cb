"""Ending what the current task awaits from elsewhere, with an exception that says why.

    interruption = Interruption()
    watcher = asyncio.create_task(watch(interruption))     # calls interruption.end_with(ClientGoneError())
    async with interruption:
        await work()                                       # is cancelled; the block raises ClientGoneError

The work stays in its own task: no second one is needed for it, and none to wait for both.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Interruption:
    """An `async with` block that others may end. The first to do so decides on the exception."""

    __slots__ = ("_cancelled", "_cancelled_before", "_cause", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._cause: Exception | None = None
        self._cancelled = False
        """For that cause."""
        self._cancelled_before = 0

    def end_with(self, cause: Exception) -> None:
        """Cancel what the block awaits and make it raise `cause`. Without effect outside of the block."""
        if self._task is None or self._cause is not None:
            return
        self._cause = cause
        if self._task is asyncio.current_task():  # it may leave the block before it awaits anything again
            asyncio.get_running_loop().call_soon(self._cancel, cause)
        else:
            self._cancel(cause)

    def _cancel(self, cause: Exception) -> None:
        if self._cause is cause:
            self._cancelled = True
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
        cancelled, self._cancelled = self._cancelled, False
        try:
            left = task.uncancel() if cancelled else task.cancelling()
            if cause is not None and left <= self._cancelled_before:
                raise cause from None
        finally:
            del cause, error, trace  # the exception holds this frame, which must not hold the exception
