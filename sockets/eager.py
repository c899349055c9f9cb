"""Starting a coroutine at once, and making a task of it only if it has to wait.

Most sends to a client end without waiting; a task for each would cost several times as much as the send.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any


def start_eagerly(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Run up to the first wait. None when that was the end; otherwise a task that does the rest.

    What runs at once must not ask for the current task, as `asyncio.timeout` does, and what it raises is
    raised here.
    """
    try:
        awaited = coroutine.send(None)
    except StopIteration:
        return None
    return asyncio.create_task(_finish(coroutine, awaited))


async def _finish(coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
    await _rest(coroutine, awaited)


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    """Wait for what the coroutine waits for, and so on until it ends; a cancellation is passed on to it."""
    while True:
        proceed, value = coroutine.send, None
        try:
            value = yield awaited
        except BaseException as error:
            proceed, value = coroutine.throw, error
        try:
            awaited = proceed(value)
        except StopIteration:
            return
