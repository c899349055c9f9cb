"""HTTP/1.1 with deadlines for the head of a request, its body, and a client that does not read."""

from __future__ import annotations

import asyncio

from sockets.at_once import Deadline
from sockets.http.flow import BoundedFlow
from sockets.http.slices import SlicingProtocol

_LATE_BODY_SECONDS = 2.0
"""How long a body may go on after it was answered, or was due."""


class BoundedHttpProtocol(SlicingProtocol):
    """HTTP/1.1 in time; subclasses name the seconds."""

    head_seconds: float
    stall_seconds: float
    body_seconds: float
    _body: Deadline | None = None
    """While a body is due."""

    def seconds_of_head(self) -> float:
        """How long this connection may take for one."""
        return self.head_seconds

    def seconds_of_body(self) -> float:
        """How long the request that has just begun may take for its body."""
        return self.body_seconds

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._head = Deadline(self.seconds_of_head())
        super().connection_made(transport)
        self.flow = BoundedFlow(transport, self.stall_seconds)
        self._head.start(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.stop()
        self._end_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._answering and self._body is None:  # line breaks before a head begin no message
            self._head.start(self.transport)
        super().data_received(data)

    def handle_websocket_upgrade(self) -> None:
        self._end_body()
        if self._deaf:
            return
        is_taken = not self._answering
        super().handle_websocket_upgrade()
        if is_taken:
            self.parser = None  # as after any connection: parser and protocol would hold each other

    def on_message_begin(self) -> None:
        if not self._deaf:
            self._head.start(self.transport)
            super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._head.stop()
        super().on_headers_complete()
        if not self._deaf:
            self._expect_body(self.seconds_of_body() + _LATE_BODY_SECONDS)

    def on_message_complete(self) -> None:
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
