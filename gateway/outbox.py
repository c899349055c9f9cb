"""Messages on their way to one client, who may read more slowly than they come.

`put` never waits, so a slow client cannot hold up the relay. A task that sends exists only while a client is
slow: what can be sent at once is, and a connection that waits in the queue costs none. What waits is bounded
in bytes here and in seconds by the connection (`gateway/connections.py`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from gateway.eager import start_eagerly
from gateway.errors import ApiError

SLOW_CLIENT = "slow_client"
"""Code of the error for a client that left too much unread."""


class Outbox:
    """Sends what is put, in order."""

    def __init__(
        self,
        send: Callable[[str | bytes], Awaitable[None]],
        max_bytes: int,
        on_failure: Callable[[Exception], None],
        send_at_once: Callable[[str | bytes], bool] | None = None,
    ) -> None:
        """`send_at_once`: sends unless that would have to wait or fail, and says whether it has."""
        self._send = send
        self._max_bytes = max_bytes
        self._on_failure = on_failure
        self._send_at_once = send_at_once
        self._bytes = 0
        self._messages: deque[str | bytes] = deque()
        self._sender: asyncio.Task[None] | None = None

    def put(self, message: str | bytes) -> None:
        """Send, or append to what waits. Raises ApiError when the client has left too much unread."""
        if self._send_at_once is not None and self._sender is None and self._send_at_once(message):
            return
        self._bytes += len(message)
        if self._bytes > self._max_bytes:
            raise ApiError(408, SLOW_CLIENT, "the audio was not read fast enough")
        self._messages.append(message)
        if self._sender is None:
            self._sender = start_eagerly(self._send_all())

    async def flush(self) -> None:
        """Wait until everything is on its way."""
        if self._sender is not None:
            await asyncio.wait({self._sender})

    def drop_audio(self) -> int:
        """A fence: of what is in line, only text is still sent. Returns the bytes that are not."""
        waiting, before = self._messages, self._bytes
        self._messages = deque(message for message in waiting if isinstance(message, str))
        self._bytes -= sum(len(message) for message in waiting if not isinstance(message, str))
        return before - self._bytes

    def drop(self) -> None:
        """Send nothing more."""
        self._messages.clear()
        if self._sender is not None:
            self._sender.cancel()

    async def _send_all(self) -> None:
        try:
            while self._messages:
                message = self._messages.popleft()
                await self._send(message)
                self._bytes -= len(message)
        except Exception as error:
            self._on_failure(error)
        finally:
            self._sender = None
