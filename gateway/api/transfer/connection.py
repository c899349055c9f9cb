"""Doing work for an HTTP client only for as long as it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from gateway.streams.interruption import Interruption

Result = TypeVar("Result")

CLIENT_GONE = 499
"""The status that nobody receives; it is in the metrics."""


class ClientGoneError(Exception):
    """The client closed its connection before the answer."""


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, which is cancelled when the client leaves. Raises ClientGoneError."""
    interruption = Interruption()
    watcher = asyncio.create_task(_watch(request, interruption))
    try:
        async with interruption:
            return await work
    finally:
        watcher.cancel()


async def _watch(request: Request, interruption: Interruption) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    interruption.end_with(ClientGoneError())
