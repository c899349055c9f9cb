"""Messages on their way to one peer, who may read more slowly than they come.

`put` never waits, so a slow peer cannot hold up anybody else. A task that sends exists only while a peer is
slow: what can be sent at once is, and a connection on which nothing happens costs none. What waits is bounded
in bytes here and in seconds by the connection (`sockets/at_once.py`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self

from starlette.websockets import WebSocket

from sockets.at_once import SEND_AT_ONCE
from sockets.eager import start_eagerly


class UnreadError(Exception):
    """The peer has left too much unread."""


class Outbox:
    """Sends what is put, in order."""

    def __init__(
        self,
        send: Callable[[str | bytes], Awaitable[None]],
        max_bytes: int,
        on_failure: Callable[[Exception], None],
        send_at_once: Callable[[str | bytes], bool] | None = None,
    ) -> None:
        """`send_at_once`: sends unless that would have to wait or fail, and says whether it has.
        `send` is for what cannot be; it asks for no current task (see `start_eagerly`).
        """
        self._send = send
        self._max_bytes = max_bytes
        self._on_failure = on_failure
        self._send_at_once = send_at_once
        self._bytes = 0
        self._messages: deque[str | bytes] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._sent = asyncio.Event()

    @classmethod
    def to(cls, websocket: WebSocket, max_bytes: int, on_failure: Callable[[Exception], None]) -> Self:
        """An outbox whose messages go to the peer of `websocket`."""
        send_at_once = websocket.scope.get("extensions", {}).get(SEND_AT_ONCE)
        return cls(partial(send, websocket), max_bytes, on_failure, send_at_once)

    @property
    def waits(self) -> bool:
        """Whether anything is in line, or being sent."""
        return self._sender is not None

    @property
    def unsent_bytes(self) -> int:
        """Bytes of the messages in line, the one that is being sent included."""
        return self._bytes

    @property
    def is_behind(self) -> bool:
        """Whether more than half of what may be in line is."""
        return self._bytes > self._max_bytes // 2

    async def caught_up(self) -> None:
        """Wait until less than a quarter is in line, or nothing is sent any more."""
        while self._sender is not None and self._bytes > self._max_bytes // 4:
            self._sent.clear()
            await self._sent.wait()

    def put(self, message: str | bytes) -> None:
        """Send, or append to what waits. Raises `too_much()`, the message then being lost."""
        if self._send_at_once is not None and self._sender is None and self._send_at_once(message):
            return
        self._bytes += len(message)
        if self._bytes > self._max_bytes:
            raise self.too_much()
        self._messages.append(message)
        if self._sender is None:
            self._sender = start_eagerly(self._send_all())

    def too_much(self) -> Exception:
        """What `put` raises for a peer that has left more than `max_bytes` unread."""
        return UnreadError(f"more than {self._max_bytes} bytes were left unread")

    async def flush(self) -> None:
        """Wait until everything is on its way."""
        if self._sender is not None:
            await asyncio.wait({self._sender})

    def drop_audio(self) -> int:
        """A fence: of what is in line, only text is still sent. Returns the bytes that are not."""
        return self.drop_those(lambda message: isinstance(message, bytes))

    def drop_those(self, unwanted: Callable[[str | bytes], bool]) -> int:
        """Drop the `unwanted` messages that are in line. Returns their bytes."""
        waiting, before = self._messages, self._bytes
        self._messages = deque(message for message in waiting if not unwanted(message))
        self._bytes -= sum(len(message) for message in waiting if unwanted(message))
        return before - self._bytes

    def drop(self) -> None:
        """Send nothing more, and report no failure: who is told of them is not held any longer."""
        self._on_failure = _nobody
        self._messages.clear()
        if self._sender is not None:
            self._sender.cancel()

    async def _send_all(self) -> None:
        try:
            while self._messages:
                message = self._messages.popleft()
                await self._send(message)
                self._bytes -= len(message)
                self._sent.set()
        except Exception as error:
            self._on_failure(error)
        finally:
            self._sender = None
            self._sent.set()


async def send(websocket: WebSocket, message: str | bytes) -> None:
    """As text or binary. Raises WebSocketDisconnect."""
    if isinstance(message, str):
        await websocket.send_text(message)
    else:
        await websocket.send_bytes(message)


def _nobody(error: Exception) -> None:
    """Failures after `drop` are reported to nobody."""
