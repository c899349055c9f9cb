"""A server's WebSocket with a way past ASGI's coroutines, for messages that need not wait.

    send_at_once = websocket.scope["extensions"][SEND_AT_ONCE]
    sent = send_at_once(b"audio")               # False: it has to wait, or cannot be sent; `send` knows which

A message through ASGI passes four coroutines of as many libraries, and a task that was woken for it. With a
frame of audio for each of hundreds of streams at the end of every step, that is most of what a process does.

A peer that takes nothing of what was written to it for too long is cut, by a plain abort: a polite close
would wait for the very peer that does not answer.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from starlette.types import Message
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Opcode
from websockets.http11 import Request
from websockets.protocol import OPEN

SEND_AT_ONCE = "voxfleet.send_at_once"
"""ASGI extension of a WebSocket: `send_at_once(message) -> bool`, see `AtOnceWebSocketProtocol`."""

_WHOLE_TEXT = 0x80 | Opcode.TEXT
_WHOLE_BINARY = 0x80 | Opcode.BINARY
_SHORT_HEAD = struct.Struct("!BB")
_MIDDLE_HEAD = struct.Struct("!BBH")
_LONG_HEAD = struct.Struct("!BBQ")

_ABOUT_HEADS = b"The head of a WebSocket has at most 128 lines of 8192 bytes each, and no body.\n"
_REFUSED_HEAD = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(_ABOUT_HEADS), _ABOUT_HEADS)
)


class Deadline:
    """Aborts a transport unless stopped within `seconds` of its start."""

    __slots__ = ("_seconds", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        """Begin to count, unless it does already."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, transport.abort)

    def stop(self) -> None:
        """Stop the timer: it was in time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def message_frame(message: str | bytes) -> bytes:
    """A whole message as a server's frame, RFC 6455 section 5.2: one fragment, no mask, no extension."""
    if isinstance(message, bytes):
        first, payload = _WHOLE_BINARY, message
    else:
        first, payload = _WHOLE_TEXT, message.encode()
    size = len(payload)
    if size < 126:
        return _SHORT_HEAD.pack(first, size) + payload
    if size < 1 << 16:
        return _MIDDLE_HEAD.pack(first, 126, size) + payload
    return _LONG_HEAD.pack(first, 127, size) + payload


class AtOnceWebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket without compression; subclasses name the seconds."""

    stall_seconds: float
    scope: dict[str, Any] | None = None
    """None until the handshake."""
    _closed_here = False
    """By the protocol, over the head of the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._stall = Deadline(self.stall_seconds)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stall.stop()
        super().connection_lost(exc)
        if self.scope is not None:
            self.scope["extensions"].pop(SEND_AT_ONCE, None)  # or protocol and scope would hold each other

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        has_no_head = self.scope is None and self.conn.handshake_exc is not None
        if has_no_head and not self.transport.is_closing():  # uvicorn would wait for another one
            self.transport.write(_REFUSED_HEAD)
            self.transport.close()

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        del self.request  # its headers are in the scope; a connection that waits needs them once
        if not self.close_sent and not self.conn.extensions:
            self.scope["extensions"][SEND_AT_ONCE] = self.send_at_once

    def handle_parser_exception(self) -> None:
        super().handle_parser_exception()
        self._closed_here = True

    async def send(self, message: Message) -> None:
        """As uvicorn's, but that the application may speak on: it has not closed the connection."""
        await self.writable.wait()
        if self._closed_here or self._left_early():
            raise ClientDisconnected
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # refused with an answer, which uvicorn would log as none

    def _left_early(self) -> bool:
        """Whether the client did so before it was answered; uvicorn would log that it was not."""
        return not self.handshake_complete and self.transport.is_closing()

    def send_receive_event_to_app(self) -> None:
        """As uvicorn's, but for text that is none: it is closed with 1007, and nothing to be logged."""
        if self.curr_msg_data_type == "text" and not self.close_sent:
            self.frames = [b"".join(self.frames)]
            try:
                self.frames[0].decode()
            except UnicodeDecodeError:
                self.conn.send_close(1007, "text is UTF-8")
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()

    def send_at_once(self, message: str | bytes) -> bool:
        """Write a message now. False when it has to wait or cannot be sent: `send` knows which."""
        if self.disconnected or not self.writable.is_set() or self.conn.state is not OPEN:
            return False
        self.transport.write(message_frame(message))
        return True

    def pause_writing(self) -> None:
        self._stall.start(self.transport)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stall.stop()
        super().resume_writing()


def at_once_protocol(stall_seconds: float) -> type[AtOnceWebSocketProtocol]:
    """The protocol with its bound."""
    return type("WebSocketProtocol", (AtOnceWebSocketProtocol,), {"stall_seconds": stall_seconds})
