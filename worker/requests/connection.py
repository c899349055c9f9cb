"""One socket of a gateway: its messages in, and at most one open request at a time.

Reading never stops while a request is open, so that a cancel, a broken message or the peer's leaving is
noticed at once. A message that is not of the protocol is answered with an `ErrorMessage` and close code 1008;
a `Start` with a wrong field is refused and the socket stays open for the next one.
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog
from starlette.websockets import WebSocket, WebSocketDisconnect

from worker.errors import status_and_detail
from worker.lifecycle import Worker
from worker.protocol import (
    CancelRequest,
    ErrorMessage,
    InvalidFieldError,
    PauseRequest,
    ProtocolError,
    ResumeRequest,
    Start,
    decode_client_message,
)
from worker.requests.streams import RequestStream

logger = structlog.get_logger(__name__)

_CLOSE_REFUSED = 1008
_CLOSE_FAILED = 1011


class Connection:
    """Serves an accepted WebSocket until either side ends it."""

    def __init__(self, websocket: WebSocket, worker: Worker, gateway: str | None = None) -> None:
        """`gateway`: who it is of, if it says so."""
        self._websocket = websocket
        self._worker = worker
        self._gateway = gateway
        self._stream: RequestStream | None = None
        self._running: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Returns when the socket is done with; by then no request of it is left in the engine."""
        try:
            await self._take_messages()
        except asyncio.CancelledError:
            if self._stream is not None:
                self._stream.abandon()
            raise
        except WebSocketDisconnect:
            await self._end_stream()
        except ProtocolError as error:
            await self._end_stream()
            await self._close(error, _CLOSE_REFUSED)
        except Exception as error:
            logger.exception("connection failed")
            await self._end_stream()
            await self._close(error, _CLOSE_FAILED)

    async def _take_messages(self) -> None:
        receiving = asyncio.create_task(self._receive())
        try:
            while True:
                waited_for = {receiving} if self._running is None else {receiving, self._running}
                await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
                if self._running is not None and self._running.done():
                    self._finish_stream()
                if receiving.done():
                    message, receiving = receiving, asyncio.create_task(self._receive())
                    await self._handle(message)
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _receive(self) -> str:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise ProtocolError("messages to a worker are text")
        return text

    async def _handle(self, received: asyncio.Task[str]) -> None:
        try:
            message = decode_client_message(received.result())
        except InvalidFieldError as error:
            await self._send_error(error)
            return
        if isinstance(message, Start):
            await self._start(message)
        elif self._stream is None:
            return
        elif isinstance(message, CancelRequest):
            self._stream.cancel()
        elif isinstance(message, PauseRequest | ResumeRequest):
            self._stream.set_paused(isinstance(message, PauseRequest))

    async def _start(self, message: Start) -> None:
        if self._stream is not None and self._running is not None:
            if not self._stream.ended:
                raise ProtocolError("a request is open on this connection already")
            await self._running
            self._finish_stream()
        self._stream = RequestStream(self._websocket, self._worker, message, self._gateway)
        self._running = asyncio.create_task(self._stream.run())

    def _finish_stream(self) -> None:
        stream, running = self._stream, self._running
        self._stream = self._running = None
        running.result()
        if stream.peer_lost:
            raise WebSocketDisconnect(1006)

    async def _end_stream(self) -> None:
        """Wait until the engine has let go of the open request."""
        if self._stream is not None and self._running is not None:
            self._stream.abandon()
            try:
                await self._running
            except Exception:
                logger.exception("request failed")

    async def _send_error(self, error: Exception) -> None:
        _, detail = status_and_detail(error)
        await self._websocket.send_text(ErrorMessage(error=detail).model_dump_json())

    async def _close(self, error: Exception, code: int) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            await self._send_error(error)
            await self._websocket.close(code)
