"""A gateway's end of a WebSocket to a worker.

Many streams bring a frame of audio each in the same few milliseconds, whenever a worker ends a step. So
messages that come in one frame, as all of ours do, are taken out of the bytes here, in the event loop's own
callback. All else of RFC 6455 is left to websockets, frame by frame: the handshake, pings, the end, and
whatever is against the rules.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.frames import DATA_OPCODES, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.protocol import OPEN

from gateway.edge.connections.websocket import MessageRate
from gateway.workers.whereabouts import Whereabouts
from sockets.authorities import authorities
from worker.protocol import MAX_FRAME_BYTES, MAX_REQUEST_BYTES

_MAX_UNREAD_BYTES = MAX_REQUEST_BYTES + (1 << 20)
"""What a worker may leave unread: a whole request, and more pongs than anybody needs."""
_FRAMES_PER_SECOND = 1000.0
"""Of those that websockets reads: pings, and words about slots."""
_LOOK_BYTES = 1 << 10
"""Of what has arrived, that websockets reads before it is seen whether they were too many frames."""
_FRAMES_AT_ONCE = 32
"""Of one connection in one turn of the event loop; a worker sends one for each step of its engine."""
_FIN = 0x80
_WHOLE_BINARY = _FIN | Opcode.BINARY
_WHOLE_TEXT = _FIN | Opcode.TEXT
_MASKED = 0x80
_EXTENDED = {126: 2, 127: 8}
"""Bytes of a length that does not fit the head."""


class MessageListener(Protocol):
    """Who hears what comes over a `WorkerConnection`."""

    def received(self, message: str | bytes) -> None:
        """A whole message has arrived."""

    def lost(self, error: ConnectionClosed) -> None:
        """The connection is lost; nothing more comes."""


class BoundedConnection(ClientConnection):
    """A WebSocket whose far end cannot fill the memory of this one, nor take its time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop."""
        self._rate = MessageRate(_FRAMES_PER_SECOND)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Called by the event loop, and for what is left to websockets."""
        for start in range(0, len(data), _LOOK_BYTES):
            if self.protocol.parser_exc is not None or self.protocol.close_rcvd is not None:
                self.transport.abort()  # it goes on after its end
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _LOOK_BYTES])

    def process_event(self, event: Any) -> None:
        """Called by websockets for the answer to the handshake and for frames."""
        asks_for_too_many_pongs = self.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES
        if asks_for_too_many_pongs or self._rate.exceeded(self.loop.time()):
            self.transport.abort()
        else:
            super().process_event(event)


class _Connect(connect):
    """A worker is where it said: nobody follows it elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception:
        """The error as it is."""
        return exc


Connection = TypeVar("Connection", bound=BoundedConnection)


async def open_socket(
    whereabouts: Whereabouts, path: str, kind: type[Connection], **options: Any
) -> Connection:
    """A WebSocket to `path` of the worker, with `options` of `websockets.connect`.

    Raises NotAllowedError, NoAddressError, OSError, TimeoutError, InvalidHandshake.
    """
    where = await whereabouts.endpoint()
    scheme = "wss" if where.url.startswith("https:") else "ws"
    if scheme == "wss":
        options["ssl"] = authorities()
    if where.address is not None:
        options["host"] = where.address
    try:
        connection = await _Connect(
            f"{scheme}://{where.host}{path}",
            additional_headers=whereabouts.headers,
            compression=None,
            proxy=None,
            create_connection=kind,
            **options,
        )
    except (OSError, TimeoutError, InvalidHandshake):
        whereabouts.look_again()
        raise
    whereabouts.answered(where)
    return connection


class WorkerConnection(BoundedConnection):
    """A WebSocket whose messages go to a listener by plain calls. Without one, nobody may say anything."""

    listener: MessageListener | None = None
    _begun = b""
    """The beginning of a frame that has not arrived as a whole, or what has to wait for the next turn."""
    _reads_on = False
    """Whether the next turn goes on with that. Nothing is read meanwhile."""

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        data, self._begun = self._begun + data, b""
        if self._reads_on:
            self._begun = data
            return
        start = frames = 0
        while start < len(data) and not self.transport.is_closing():
            bounds = frame_bounds(data, start) if self.protocol.state is OPEN else None
            if bounds is None:
                super().data_received(data[start:])
                return
            payload_start, end = bounds
            if end > len(data) or frames == _FRAMES_AT_ONCE:
                self._begun = data[start:]
                if end <= len(data):
                    self._read_on_later()
                return
            self._take_frame(data, start, payload_start, end)
            start, frames = end, frames + 1

    def _read_on_later(self) -> None:
        self._reads_on = True
        self.transport.pause_reading()
        self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        self._reads_on = False
        self.data_received(b"")
        if not self._reads_on and not self.transport.is_closing():
            self.transport.resume_reading()

    def _take_frame(self, data: bytes, start: int, payload_start: int, end: int) -> None:
        if data[start] == _WHOLE_BINARY and self.listener is not None:
            self.listener.received(data[payload_start:end])
        elif data[start] == _WHOLE_TEXT and self.listener is not None:
            self.listener.received(data[payload_start:end].decode(errors="replace"))
        else:
            super().data_received(data[start:end])

    def process_event(self, event: Any) -> None:
        """Called by websockets for the answer to the handshake, then for each frame that it was left."""
        if isinstance(event, WebSocketFrame) and event.opcode in DATA_OPCODES:
            self.transport.abort()  # a worker sends whole messages, and only when asked
        else:
            super().process_event(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop."""
        super().connection_lost(exc)
        if self.listener is not None:
            self.listener.lost(self.protocol.close_exc)


def frame_bounds(data: bytes, start: int) -> tuple[int, int] | None:
    """Where the payload of the frame at `start` begins and ends, RFC 6455 section 5.2.

    The end is beyond `data` while something is missing. None for a frame that a worker may not send, since it
    is masked or too long.
    """
    payload_start = start + 2
    if len(data) < payload_start:
        return payload_start, payload_start
    length = data[start + 1]
    if length in _EXTENDED:
        payload_start += _EXTENDED[length]
        if len(data) < payload_start:
            return payload_start, payload_start
        length = int.from_bytes(data[start + 2 : payload_start], "big")
    elif length & _MASKED:
        return None
    return None if length > MAX_FRAME_BYTES else (payload_start, payload_start + length)
