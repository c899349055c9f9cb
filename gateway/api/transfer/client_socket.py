"""A client's WebSocket, whatever is spoken over it: accepted, read, written to through an outbox, ended.

    async def stream(websocket: WebSocket) -> None:
        await serve_socket(websocket, lambda socket: StreamSession(socket).run())

`gateway/api/speech/stream.py` and `gateway/api/speech/live.py` are served so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.callers.identity import ANSWERED_SUBPROTOCOLS, Caller
from gateway.callers.origin import is_welcome
from gateway.edge.outbox import SLOW_CLIENT, Outbox
from gateway.errors import ApiError, error_response, internal_error
from gateway.service import Gateway
from gateway.streams.interruption import Interruption
from sockets.outbox import send

logger = structlog.get_logger(__name__)
_DONE = 1000
Result = TypeVar("Result")
Serve = Callable[["ClientSocket"], Awaitable[None]]
"""Serves an accepted socket to its end."""


async def serve_or_refuse(websocket: WebSocket, ask: Callable[[Gateway], Awaitable[Serve]]) -> None:
    """`serve_socket` by what `ask` returns. Where it raises ApiError, the client is refused before the socket
    opens, so that it sees the status, as SDKs expect.
    """
    try:
        serve = await ask(websocket.app.state.gateway)
    except ApiError as error:
        await websocket.send_denial_response(error_response(error, websocket.scope))
        return
    await serve_socket(websocket, serve)


async def serve_checked(
    websocket: WebSocket, ask: Callable[[Caller], Awaitable[Serve]], key: str | None = None
) -> None:
    """`serve_or_refuse` for whoever may speak, while the gateway is open.

    `ask` looks at what else stands in the head. `key`: one that `Callers.identify` does not find there.
    """

    async def ask_caller(gateway: Gateway) -> Serve:
        gateway.check_open()
        return await ask(gateway.callers.identify(websocket, key))

    await serve_or_refuse(websocket, ask_caller)


async def serve_caller(
    websocket: WebSocket,
    serve: Callable[[ClientSocket, Caller], Awaitable[None]],
    key: str | None = None,
) -> None:
    """`serve_checked` where nothing else in the head is looked at."""

    async def ask(caller: Caller) -> Serve:
        return lambda socket: serve(socket, caller)

    await serve_checked(websocket, ask, key)


async def serve_socket(websocket: WebSocket, serve: Serve) -> None:
    """Accept, unless a page from elsewhere asks, and serve until that returns or the client has left."""
    gateway: Gateway = websocket.app.state.gateway
    if not is_welcome(websocket.headers, gateway.settings.allowed_origins):
        await websocket.close(1008, "origin not allowed")
        return
    offered: list[str] = websocket.scope.get("subprotocols", [])
    await websocket.accept(next((word for word in offered if word in ANSWERED_SUBPROTOCOLS), None))
    socket = ClientSocket(websocket, gateway)
    try:
        with contextlib.suppress(WebSocketDisconnect):
            await serve(socket)
    finally:
        socket.outbox.drop()


class ClientSocket:
    """One accepted WebSocket of a client."""

    def __init__(self, websocket: WebSocket, gateway: Gateway) -> None:
        self.gateway = gateway
        self.connection = websocket
        self.request_id: str = websocket.state.request_id
        self.interruption = Interruption()
        """Ends the work from within the reader, or when the client cannot be written to."""
        limit = gateway.settings.client_buffer_bytes
        self.outbox = Outbox.to(websocket, limit, on_failure=self.interruption.end_with)

    async def receive_text(self) -> str:
        """The next message. Raises WebSocketDisconnect, and ApiError for one that is not text."""
        message = await self._receive()
        if message.get("text") is None:
            raise ApiError(422, "invalid_message", "messages are JSON in text frames")
        return message["text"]

    async def receive_bytes(self) -> bytes:
        """The next message. Raises WebSocketDisconnect, and ApiError for one that is text."""
        message = await self._receive()
        if message.get("bytes") is None:
            raise ApiError(422, "invalid_message", "messages come in binary frames")
        return message["bytes"]

    async def _receive(self) -> Message:
        message = await self.connection.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        return message

    def put(self, message: str | bytes) -> None:
        """Send it when the client is ready; one that leaves too much unread ends the work."""
        try:
            self.outbox.put(message)
        except ApiError as error:
            self.interruption.end_with(error)

    async def first(self, opening: Awaitable[Result]) -> Result:
        """What a client has to say first. Raises ApiError 408 when it does not come in time."""
        try:
            async with asyncio.timeout(self.gateway.settings.first_message_timeout_seconds):
                return await opening
        except TimeoutError:
            raise ApiError(408, "no_request", "no request came in time") from None

    async def flushed(self, work: Awaitable[Result]) -> Result:
        """What was generated before a failure reaches the client, unless it is the one that is too slow."""
        try:
            result = await work
        except ApiError as error:
            if error.code != SLOW_CLIENT:
                await self.outbox.flush()
            raise
        await self.outbox.flush()
        return result

    async def reading(self, read: Callable[[], Awaitable[None]], work: Awaitable[Result]) -> Result:
        """The result of `work`, while `read` takes what the client says. What `read` raises ends the work."""
        reader = asyncio.create_task(self._read(read))
        try:
            async with self.interruption:
                return await work
        finally:
            reader.cancel()
            self.outbox.drop()

    async def _read(self, read: Callable[[], Awaitable[None]]) -> None:
        try:
            await read()
        except Exception as cause:
            self.interruption.end_with(cause)

    async def outcome(self, work: Awaitable[None]) -> ApiError | None:
        """What ended the work before its time, if anything did; a defect is logged, and is an internal error.

        What was put before is on its way then, unless the client is too slow. Raises WebSocketDisconnect.
        """
        problem = None
        try:
            await work
        except WebSocketDisconnect:
            raise
        except ApiError as error:
            problem = error
        except Exception:
            logger.exception("unhandled error", request_id=self.request_id)
            problem = internal_error()
        if problem is None or problem.code != SLOW_CLIENT:
            await self.outbox.flush()
        return problem

    async def close(self, problem: ApiError | None, last_words: str | bytes | None = None) -> None:
        """End the connection as goes with the `problem`."""
        if last_words is not None:
            await send(self.connection, last_words)
        if problem is None:
            await self.connection.close(_DONE)
        else:
            await self.connection.close(problem.close_code, problem.code)

    async def end(self, message: dict[str, Any]) -> None:
        """Send a last message, and close."""
        await self.close(None, json.dumps(message))

    async def end_with(self, error: ApiError, **fields: Any) -> None:
        """An error, in the one shape, as the last message; `fields` go beside it."""
        await self.close(error, json.dumps({"type": "error", **fields, **error.to_message()}))
