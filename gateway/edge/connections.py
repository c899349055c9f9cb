"""Deadlines and limits of one connection that only its protocol can keep: uvicorn's, with bounds added.

* A connection that has not sent the whole head of a request in time is cut: a silent one, one that sends a
  header a minute, one that goes silent in the middle. Between two requests uvicorn's keep-alive bound holds.
* One whose body takes too long is cut, and one that goes on sending a body after its answer.
* One that is one too many (`crowd.py`) is answered 503 and closed.
* One whose address is too long is answered 414 (`refusals.py`).
* One that sends header lines, or lines after its body, without end is cut: they would be kept in memory.
* A client that takes nothing of what was written to it for too long is cut, over HTTP and WebSocket alike; so
  is one that is gone without a word (`keepalive.py`), and what waits behind an answer is bounded
  (`pipelining.py`).
* A WebSocket that says too much, pings and empty fragments included, is closed with 1008; one whose message
  finds no room beside those of all others (`memory.py`), with 1013.

Cut means aborted: a polite close would wait for the very client that does not answer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from types import MappingProxyType

from starlette.types import Message
from uvicorn.protocols.http.flow_control import FlowControl
from websockets.frames import Frame
from websockets.http11 import Request

from gateway.edge.crowd import Crowd
from gateway.edge.keepalive import notice_vanishing
from gateway.edge.memory import LargeBytes
from gateway.edge.paths import at_path
from gateway.edge.refusals import RefusingProtocol
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from sockets.at_once import AtOnceWebSocketProtocol, Deadline

LIVE_PATH = "/ws/live"
_TEXT_PATHS = (LIVE_PATH, "/stream-input", "/multi-stream-input", "/v1/speak", "/tts/websocket")
"""Ends of paths where text may come token by token, so that more messages a second are allowed."""

_LONGEST_HEAD = 1 << 16
"""Bytes of header lines; as many as fit into one read of the socket may be more."""
_FRAGMENT_BYTES = 64
"""What a fragment of a message takes beside its content."""
_REFUSED_SECONDS = 2.0
"""How long a connection that is one too many may take to say anything, and hear why it is refused."""
_LATE_BODY_SECONDS = 2.0
"""How long a body may go on after it was answered, or was due."""


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


class BoundedFlow(FlowControl):
    """uvicorn's, with the deadline of a client that does not read; an event exists while somebody waits."""

    def __init__(self, transport: asyncio.Transport, stall_seconds: float) -> None:
        self._transport = transport
        self._stall = Deadline(stall_seconds)
        self._resumed: asyncio.Event | None = None
        self.read_paused = False
        self.write_paused = False

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""
        if self.write_paused:
            self._resumed = self._resumed or asyncio.Event()
            await self._resumed.wait()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        if not self.write_paused:
            self.write_paused = True
            self._stall.start(self._transport)

    def resume_writing(self) -> None:
        """It has read, or the connection is lost."""
        self.write_paused = False
        self._stall.stop()
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None


class BoundedHttpProtocol(RefusingProtocol):
    """HTTP/1.1; subclasses name the seconds."""

    head_seconds: float
    stall_seconds: float
    body_seconds: float
    body_seconds_at: Mapping[str, float]
    """By path, where others hold."""
    crowd: Crowd
    _body: Deadline | None = None
    """While a body is due."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._refusal = self.crowd.enter(transport)
        self._head = Deadline(self.head_seconds if self._refusal is None else _REFUSED_SECONDS)
        super().connection_made(transport)
        self.flow = BoundedFlow(transport, self.stall_seconds)
        self._head.start(transport)
        notice_vanishing(transport, self.stall_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.leave(self.transport)
        self._head.stop()
        self._end_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._refuse(self._refusal)
            return
        self._head_bytes += 0 if self._deaf else len(data)
        super().data_received(data)
        if self._head_bytes > _LONGEST_HEAD:
            self.transport.abort()

    def handle_websocket_upgrade(self) -> None:
        self._end_body()
        if self._deaf:
            return
        if self._answering:
            super().handle_websocket_upgrade()
            return
        if self.scope["http_version"] != "1.1":
            self._refuse(ApiError(505, "http_version_not_supported", "WebSockets need HTTP/1.1"))
            return
        super().handle_websocket_upgrade()
        self.parser = None  # as after any connection: parser and protocol would hold each other

    def on_message_begin(self) -> None:
        if not self._deaf:
            self._head.start(self.transport)
            super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head.stop()
        self._head_bytes = 0
        super().on_headers_complete()
        if self._deaf:
            return
        seconds = at_path(self.scope.get("path", ""), self.body_seconds_at, self.body_seconds)
        self._expect_body(seconds + _LATE_BODY_SECONDS)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._end_body()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._body is not None and self.cycle.response_complete:  # nobody reads the rest of it
            self._end_body()
            self._expect_body(_LATE_BODY_SECONDS)
        super().on_response_complete()

    def _expect_body(self, seconds: float) -> None:
        self._body = Deadline(seconds)
        self._body.start(self.transport)

    def _end_body(self) -> None:
        if self._body is not None:
            self._body.stop()
            self._body = None


class BoundedWebSocketProtocol(AtOnceWebSocketProtocol):
    """Subclasses name the bounds."""

    messages_per_second: float
    live_messages_per_second: float
    crowd: Crowd
    large: LargeBytes
    _large_bytes = 0
    """What is counted there of this connection."""
    _fragment_bytes = 0
    """Of a message that is not complete."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._rate = MessageRate(self.messages_per_second)
        self._waiting: deque[int] = deque()
        """Bytes of each complete message that the application has not taken."""
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.leave(self.transport)
        self.large.give_back(self._large_bytes)
        self._large_bytes = 0
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._count_bytes()

    async def receive(self) -> Message:
        """The next event, which is the application's from now on."""
        event = await super().receive()
        if event["type"] == "websocket.receive":
            self._waiting.popleft()
            self._count_bytes()
        return event

    async def send(self, message: Message) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # refused with an answer, which uvicorn would log as none

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
        if not self._refuse_flood():
            super().handle_ping()

    def handle_text(self, event: Frame) -> None:
        self._fragment_bytes = len(event.data) + _FRAGMENT_BYTES
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        self._fragment_bytes = len(event.data) + _FRAGMENT_BYTES
        super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        if event.data or event.fin:
            self._fragment_bytes += len(event.data) + _FRAGMENT_BYTES
            super().handle_cont(event)
        else:  # with nothing in it, no limit of size is ever reached
            self._refuse_flood()

    def send_receive_event_to_app(self) -> None:
        if self._refuse_flood():
            return
        before = self.queue.qsize()
        super().send_receive_event_to_app()
        if self.queue.qsize() > before and not self.close_sent:
            self._waiting.append(self._fragment_bytes)
        self._fragment_bytes = 0

    def _refuse_flood(self) -> bool:
        """Whether the message is one too many; the connection is then closed and the application told."""
        if self.close_sent or not self._rate.exceeded(self.loop.time()):
            return self.close_sent
        self._close(1008, "too many messages")
        return True

    def _close(self, code: int, reason: str) -> None:
        self.conn.send_close(code, reason)
        self.handle_parser_exception()


def http_protocol(
    settings: GatewaySettings, crowd: Crowd, body_seconds_at: Mapping[str, float] = MappingProxyType({})
) -> type[BoundedHttpProtocol]:
    """The HTTP protocol with the bounds of `settings`."""
    return type(
        "HttpProtocol",
        (BoundedHttpProtocol,),
        {
            "head_seconds": settings.first_message_timeout_seconds,
            "stall_seconds": settings.client_stall_seconds,
            "body_seconds": settings.body_timeout_seconds,
            "body_seconds_at": body_seconds_at,
            "crowd": crowd,
        },
    )


def websocket_protocol(settings: GatewaySettings, crowd: Crowd) -> type[BoundedWebSocketProtocol]:
    """The WebSocket protocol with the bounds of `settings`."""
    return type(
        "WebSocketProtocol",
        (BoundedWebSocketProtocol,),
        {
            "stall_seconds": settings.client_stall_seconds,
            "messages_per_second": settings.max_messages_per_second,
            "live_messages_per_second": settings.live_messages_per_second,
            "crowd": crowd,
            "large": LargeBytes(),
        },
    )
