"""Requests that a client sends before it has its answer: uvicorn's protocol, which stops to read then.

Who does not read does not learn that the client has left, and a slot would be used to the end of a clip that
nobody hears. So reading goes on, within bounds. What is more than they allow is thrown away: the connection
ends with the last answer, and a client that wants the others sends them again (RFC 9112, section 9.3.2).
"""

from __future__ import annotations

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from sockets.http.upgrades import UpgradingProtocol

MOST_PIPELINED = 8
"""Requests that may wait for the answer to the one before."""
LONGEST_PIPELINED_BODY = 1 << 16
"""Bytes of the body of a request that waits."""


class PipeliningProtocol(UpgradingProtocol):
    """HTTP/1.1 whose running request hears that its client has left, whatever came after it."""

    _running: RequestResponseCycle | None = None
    """The request that is being answered; `cycle` is the newest."""

    @property
    def _answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self.pipeline.clear()
        if self._answering:
            self._running.disconnected = True
            self._running.message_event.set()
        self._running = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._deaf:
            super().data_received(data)

    def handle_websocket_upgrade(self) -> None:
        if self._answering:  # the socket would no longer be the running request's
            self._turn_deaf()
        else:
            super().handle_websocket_upgrade()

    def on_headers_complete(self) -> None:
        if self._deaf:
            return
        super().on_headers_complete()
        if self.pipeline:
            self.flow.resume_reading()
            if len(self.pipeline) > MOST_PIPELINED:
                self._drop_newest()

    def on_body(self, body: bytes) -> None:
        if self._deaf:
            return
        waits = bool(self.pipeline) and self.pipeline[0][0] is self.cycle
        if waits and len(self.cycle.body) + len(body) > LONGEST_PIPELINED_BODY:
            self._drop_newest()
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._deaf:
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _drop_newest(self) -> None:
        self.pipeline.popleft()
        self._turn_deaf()

    def _turn_deaf(self) -> None:
        """Answer what came before, and close."""
        self._deaf = True
        last = self.pipeline[0][0] if self.pipeline else self._running
        last.keep_alive = False
