"""HTTP/1.1 with the gateway's bounds: those of `sockets/http`, and how many connections there may be."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from gateway.edge.connections.crowd import Crowd
from gateway.edge.connections.keepalive import notice_vanishing
from gateway.edge.connections.reading import Readers, ReadInTurns
from gateway.edge.paths import at_path
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from sockets.http.deadlines import BoundedHttpProtocol
from sockets.http.heads import raw_response

_REFUSED_SECONDS = 2.0
"""How long a connection that is one too many may take to say anything, and hear why it is refused."""


class GatewayHttpProtocol(BoundedHttpProtocol, ReadInTurns):
    """HTTP/1.1 whose own refusals have the one error shape; subclasses name the bounds."""

    body_seconds_at: Mapping[str, float]
    """By path, where others than `body_seconds` hold."""
    crowd: Crowd

    def seconds_of_head(self) -> float:
        return self.head_seconds if self._refusal is None else _REFUSED_SECONDS

    def seconds_of_body(self) -> float:
        return at_path(self.scope.get("path", ""), self.body_seconds_at, self.body_seconds)

    def refuse(self, status: int, code: str, message: str) -> None:
        self._refuse(ApiError(status, code, message))

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._refusal = self.crowd.enter(transport)
        super().connection_made(transport)
        notice_vanishing(transport, self.stall_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self.crowd.leave(self.transport)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._refuse(self._refusal)
            return
        super().data_received(data)
        self.has_read(len(data))

    def may_read(self) -> bool:
        return not self._held and not self.flow.read_paused

    def on_message_complete(self) -> None:
        self.message_came()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        if not self._deaf and not self._answering and self.scope["http_version"] != "1.1":
            self._end_body()
            self.refuse(505, "http_version_not_supported", "WebSockets need HTTP/1.1")
            return
        super().handle_websocket_upgrade()

    def _refuse(self, error: ApiError) -> None:
        self.write_last(raw_response(error.status_code, error.code, error.to_dict(), error.headers or {}))


def http_protocol(
    settings: GatewaySettings,
    crowd: Crowd,
    readers: Readers,
    body_seconds_at: Mapping[str, float] = MappingProxyType({}),
) -> type[GatewayHttpProtocol]:
    """The HTTP protocol with the bounds of `settings`."""
    return type(
        "HttpProtocol",
        (GatewayHttpProtocol,),
        {
            "head_seconds": settings.first_message_timeout_seconds,
            "stall_seconds": settings.client_stall_seconds,
            "body_seconds": settings.body_timeout_seconds,
            "body_seconds_at": body_seconds_at,
            "crowd": crowd,
            "readers": readers,
        },
    )
