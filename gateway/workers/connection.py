"""A gateway's end of a WebSocket to a worker.

Many streams bring a frame of audio each in the same few milliseconds, whenever a worker ends a step. So
messages that come in one frame, as all of ours do, are taken out of the bytes here, in the event loop's own
callback. All else of RFC 6455 is left to websockets, frame by frame: the handshake, pings, the end, and
whatever is against the rules.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.frames import DATA_OPCODES, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.protocol import OPEN

from gateway.workers.whereabouts import Whereabouts
from sockets.authorities import authorities
from worker.protocol import MAX_FRAME_BYTES, MAX_REQUEST_BYTES

_MAX_UNREAD_BYTES = MAX_REQUEST_BYTES + (1 << 20)
"""What a worker may leave unread: a whole request, and more pongs than anybody needs."""
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
    """A WebSocket whose far end cannot fill the memory of this one."""

    def process_event(self, event: Any) -> None:
        """Called by websockets for the answer to the handshake and for frames."""
        if self.transport.get_write_buffer_size() > _MAX_UNREAD_BYTES:
            self.transport.abort()  # it asks for pongs and does not read them
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
    """The beginning of a frame that has not arrived as a whole."""

    def data_received(self, data: bytes) -> None:
        """Called by the event loop."""
        if self._begun:
            data, self._begun = self._begun + data, b""
        start = 0
        while start < len(data):
            bounds = frame_bounds(data, start) if self.protocol.state is OPEN else None
            if bounds is None:
                super().data_received(data[start:])
                return
            payload_start, end = bounds
            if end > len(data):
                self._begun = data[start:]
                return
            self._take_frame(data, start, payload_start, end)
            start = end

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
