"""An HTTP response that is sent while its content is made.

It begins with the first piece, so whatever goes wrong before that is an ordinary error with its status. After
an error later on the connection is cut, with the protocol's last words where it has any: a response that ends
as if it were complete would be taken for the whole.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.api.transfer.connection import ClientGoneError, while_connected
from gateway.edge.outbox import SLOW_CLIENT, Outbox
from gateway.edge.unfinished import leave_unfinished
from gateway.errors import ApiError
from gateway.service import Gateway
from gateway.streams.interruption import Interruption


class GrowingResponse(Response):
    """What is put into `_outbox` goes to `_take`, which writes it; a client that reads too slowly is cut."""

    def __init__(self, request: Request, gateway: Gateway) -> None:
        super().__init__()
        self._request = request
        self._interruption = Interruption()
        self._outbox = Outbox(
            self._take, gateway.settings.client_buffer_bytes, on_failure=self._interruption.end_with
        )
        self._send: Send | None = None
        self._begun = False

    @abstractmethod
    async def _make(self) -> None:
        """Put all pieces, flush, and write the end. Raises ApiError."""

    @abstractmethod
    async def _take(self, piece: str | bytes) -> None:
        """Write a piece."""

    @abstractmethod
    def _broken(self, error: ApiError) -> bytes:
        """The last words before the connection is cut."""

    @abstractmethod
    def _headers(self) -> dict[str, str]:
        """The headers of the response, asked for when it begins."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. Raises ApiError before anything was sent."""
        self._send = send
        with contextlib.suppress(ClientGoneError):
            await while_connected(self._request, self._serve())

    async def _serve(self) -> None:
        try:
            async with self._interruption:
                await self._make()
                await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        except ApiError as error:
            if not self._begun:
                raise
            if error.code != SLOW_CLIENT:
                await self._outbox.flush()
            await self._write(self._broken(error))
            leave_unfinished()
        finally:
            self._outbox.drop()

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        if not self._begun:
            self._begun = True
            headers = {"X-Accel-Buffering": "no", **self._headers()}
            raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
            await self._send({"type": "http.response.start", "status": 200, "headers": raw})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
