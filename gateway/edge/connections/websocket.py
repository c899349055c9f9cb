"""WebSockets with bounds for how many messages there are, and for what they take of memory."""

from __future__ import annotations

import asyncio
from collections import deque

from starlette.types import Message
from websockets.frames import Frame
from websockets.http11 import Request

from gateway.edge.connections.crowd import Crowd
from gateway.edge.connections.reading import Readers, ReadInTurns
from gateway.edge.memory import LargeBytes
from gateway.edge.turns import WHOSE, Turns
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from sockets.at_once import AtOnceWebSocketProtocol

LIVE_PATH = "/ws/live"
_TEXT_PATHS = (
    *(LIVE_PATH, "/stream-input", "/multi-stream-input", "/v1/speak", "/v2/speak", "/tts/websocket"),
    *("/jambonz", "/v1/audio/speech/stream", "/v1/tts/live"),
)
"""Ends of paths where text may come token by token, so that more messages a second are allowed."""

PINGED_AT = "voxfleet.pinged_at"
"""ASGI extension of a WebSocket: when its client has sent the last ping, by the clock of the event loop."""

_FRAGMENT_BYTES = 64
"""What a fragment of a message takes beside its content."""
_FRAGMENTS_PER_SECOND = 5000.0
_LOOK_BYTES = 1 << 14
"""Of what has arrived, that are read before it is seen whether they were too many messages."""


class MessageRate:
    """A token bucket that holds the messages of one second."""

    __slots__ = ("_at", "_per_second", "_tokens")

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._tokens = per_second
        self._at = 0.0

    def exceeded(self, now: float) -> bool:
        """Count one message at `now`; True when it is one too many."""
        self._tokens = min(self._per_second, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        self._tokens -= 1
        return self._tokens < 0


class BoundedWebSocketProtocol(AtOnceWebSocketProtocol, ReadInTurns):
    """Subclasses name the bounds."""

    messages_per_second: float
    live_messages_per_second: float
    crowd: Crowd
    large: LargeBytes
    turns: Turns
    _large_bytes = 0
    """What is counted there of this connection."""
    _fragment_bytes = 0
    """Of a message that is not complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._rate = MessageRate(self.messages_per_second)
        self._fragments = MessageRate(_FRAGMENTS_PER_SECOND)
        self._waiting: deque[int] = deque()
        """Bytes of each complete message that the application has not taken."""
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.leave(self.transport)
        self.large.give_back(self._large_bytes)
        self._large_bytes = 0
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _LOOK_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _LOOK_BYTES])
        self._count_bytes()
        self.has_read(len(data))

    def may_read(self) -> bool:
        return not self.read_paused

    async def receive(self) -> Message:
        """The next event, which is the application's from now on."""
        event = await super().receive()
        if event["type"] == "websocket.receive":
            try:
                await self.turns.take(self._waiting[0], self.scope["state"].get(WHOSE, ""))
            finally:
                self._waiting.popleft()
                self._count_bytes()
        return event

    def _count_bytes(self) -> None:
        """Close the connection where there is no room for what it has in memory."""
        if self.close_sent or self.transport.is_closing():
            return
        held = len(self.conn.reader.buffer) + self._fragment_bytes + sum(self._waiting)
        try:
            self._large_bytes = self.large.change(held, self._large_bytes)
        except ApiError as error:
            self._close(error.close_code, error.code)

    def handle_connect(self, event: Request) -> None:
        if event.path.partition("?")[0].endswith(_TEXT_PATHS):
            self._rate = MessageRate(self.live_messages_per_second)
        super().handle_connect(event)

    def handle_ping(self) -> None:
        self.message_came()
        if not self._refuse_flood(self._rate):
            self.scope["extensions"][PINGED_AT] = self.loop.time()
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        self.message_came()
        if not self._refuse_flood(self._rate):
            super().handle_pong(event)

    def handle_text(self, event: Frame) -> None:
        self._fragment_bytes = len(event.data) + _FRAGMENT_BYTES
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        self._fragment_bytes = len(event.data) + _FRAGMENT_BYTES
        super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        # with nothing in it, no limit of size is ever reached
        is_piece = bool(event.data) or event.fin
        if not self._refuse_flood(self._fragments if is_piece else self._rate) and is_piece:
            self._fragment_bytes += len(event.data) + _FRAGMENT_BYTES
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        self.message_came()
        if self._refuse_flood(self._rate):
            return
        before = self.queue.qsize()
        super().send_receive_event_to_app()
        if self.queue.qsize() > before and not self.close_sent:
            self._waiting.append(self._fragment_bytes)
        self._fragment_bytes = 0

    def _refuse_flood(self, rate: MessageRate) -> bool:
        """Whether what came is one too many; the connection is then closed and the application told."""
        if self.close_sent or not rate.exceeded(self.loop.time()):
            return self.close_sent
        self._close(1008, "too many messages")
        return True

    def _close(self, code: int, reason: str) -> None:
        self.conn.send_close(code, reason)
        self.handle_parser_exception()


def websocket_protocol(
    settings: GatewaySettings, crowd: Crowd, readers: Readers
) -> type[BoundedWebSocketProtocol]:
    """The WebSocket protocol with the bounds of `settings`."""
    return type(
        "WebSocketProtocol",
        (BoundedWebSocketProtocol,),
        {
            "stall_seconds": settings.client_stall_seconds,
            "messages_per_second": settings.max_messages_per_second,
            "live_messages_per_second": settings.live_messages_per_second,
            "crowd": crowd,
            "readers": readers,
            "large": LargeBytes(),
            "turns": Turns(),
        },
    )
