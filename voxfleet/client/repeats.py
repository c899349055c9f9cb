"""A request that makes something is sent again where the connection was lost, and makes it once.

The service keeps the key of the request with what it has made.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

import httpx

_PAUSES_SECONDS = (0.5, 2.0)
"""Before each further try."""
_LOST = (httpx.NetworkError, httpx.RemoteProtocolError)
"""Nobody heard the answer, if there was one."""


async def sent_once(send: Callable[..., Awaitable[httpx.Response]]) -> httpx.Response:
    """The answer of `send(headers=...)`, in the end. Raises what that raises."""
    headers = {"Idempotency-Key": secrets.token_hex(16)}
    for pause_seconds in _PAUSES_SECONDS:
        try:
            return await send(headers=headers)
        except _LOST:
            await asyncio.sleep(pause_seconds)
    return await send(headers=headers)
