"""HTTP/1.1 with deadlines for the head of a request, its body, and a client that does not read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from gateway.edge.connections.crowd import Crowd
from gateway.edge.connections.flow import BoundedFlow
from gateway.edge.connections.keepalive import notice_vanishing
from gateway.edge.connections.refusals import RefusingProtocol
from gateway.edge.paths import at_path
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from sockets.at_once import Deadline

_LONGEST_HEAD = 1 << 16
"""Bytes of header lines; as many as fit into one read of the socket may be more."""
_REFUSED_SECONDS = 2.0
"""How long a connection that is one too many may take to say anything, and hear why it is refused."""
_LATE_BODY_SECONDS = 2.0
"""How long a body may go on after it was answered, or was due."""


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
