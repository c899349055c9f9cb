"""`WS /ws/tts`: queue news, then PCM while it is generated, then how it went.

Three tasks per connection: the synthesis, which puts messages into an outbox and never waits for the client;
a sender that empties the outbox; and a reader, active from the first to the last moment, that notices
`{"type": "cancel"}` and a client that leaves, queued or streaming. Whichever ends first decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from typing import Any

import structlog
from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from gateway.errors import ApiError
from gateway.requests import parse_stream_request
from gateway.security import may_open_socket
from gateway.service import Gateway
from gateway.synthesis import Outcome, Synthesis

router = APIRouter()
logger = structlog.get_logger(__name__)

DONE = 1000


@router.websocket("/ws/tts")
async def stream(websocket: WebSocket) -> None:
    """Serve one request on this socket."""
    gateway: Gateway = websocket.app.state.gateway
    if not may_open_socket(websocket, gateway.settings.allowed_origins):
        await websocket.close(1008, "origin not allowed")
        return
    await websocket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        await StreamSession(websocket, gateway).run()


class CancelledByClient(Exception):
    """The client asked for the end of its request."""


class StreamSession:
    """One connection; also the `Listener` of its synthesis."""

    def __init__(self, websocket: WebSocket, gateway: Gateway) -> None:
        self._websocket = websocket
        self._gateway = gateway
        self._settings = gateway.settings
        self._request_id: str = websocket.state.request_id
        self._outbox = Outbox(gateway.settings.client_buffer_bytes)
        self._announced = False

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        try:
            outcome = await self._serve()
        except CancelledByClient:
            await self._end({"type": "cancelled"}, DONE)
        except ApiError as error:
            await self._end_with(error)
        except WebSocketDisconnect:
            raise
        except Exception:
            logger.exception("unhandled error", request_id=self._request_id)
            await self._end_with(ApiError(500, "internal_error", "an internal error occurred"))
        else:
            await self._end(_done_message(outcome), DONE)

    async def _serve(self) -> Outcome:
        try:
            async with asyncio.timeout(self._settings.first_message_timeout_seconds):
                message = await self._receive_text()
        except TimeoutError:
            raise ApiError(408, "no_request", "no request came in time") from None
        order = parse_stream_request(message)
        synthesis = asyncio.create_task(Synthesis(self._gateway, order, self._request_id, self).run())
        reader = asyncio.create_task(self._read_until_cancel())
        sender = asyncio.create_task(self._send_outbox())
        tasks = {synthesis, reader, sender}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if synthesis.done():
                outcome = synthesis.result()
                self._outbox.close()
                await asyncio.wait({reader, sender}, return_when=asyncio.FIRST_COMPLETED)
            for task in (reader, sender):
                if task.done():
                    task.result()
            return outcome
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------ what is heard

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        kind = "queue_update" if self._announced else "queued"
        self._announced = True
        eta_seconds = None if eta_seconds is None else round(eta_seconds, 3)
        message = {"type": kind, "ticket_id": ticket_id, "position": position, "eta_seconds": eta_seconds}
        self._outbox.put(json.dumps(message))

    def started(self, worker_id: str, sample_rate: int) -> None:
        message = {
            "type": "started",
            "request_id": self._request_id,
            "worker_id": worker_id,
            "sample_rate": sample_rate,
        }
        self._outbox.put(json.dumps(message))

    def audio(self, pcm: bytes) -> None:
        self._outbox.put(pcm)

    # --------------------------------------------------------------------------------------------- the socket

    async def _receive_text(self) -> str:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        if message.get("text") is None:
            raise ApiError(422, "invalid_message", "messages are JSON in text frames")
        return message["text"]

    async def _read_until_cancel(self) -> None:
        """Raises CancelledByClient, WebSocketDisconnect, and ApiError for any other message."""
        text = await self._receive_text()
        try:
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ApiError(400, "invalid_json", "the message is not JSON") from error
        if message == {"type": "cancel"}:
            raise CancelledByClient
        raise ApiError(
            422, "invalid_message", 'after the request only {"type": "cancel"} is understood', param="type"
        )

    async def _send_outbox(self) -> None:
        while (message := await self._outbox.get()) is not None:
            try:
                async with asyncio.timeout(self._settings.client_stall_seconds):
                    await self._send(message)
            except TimeoutError:
                raise WebSocketDisconnect(1006, "the client stopped reading") from None

    async def _send(self, message: str | bytes) -> None:
        if isinstance(message, str):
            await self._websocket.send_text(message)
        else:
            await self._websocket.send_bytes(message)

    async def _end_with(self, error: ApiError) -> None:
        if error.code == "cancelled":
            await self._end({"type": "cancelled"}, DONE)
            return
        body = {"type": "error", **error.to_dict()}
        if retry_after := (error.headers or {}).get("Retry-After"):
            body["retry_after_seconds"] = int(retry_after)
        await self._end(body, error.close_code, error.code)

    async def _end(self, message: dict[str, Any], close_code: int, reason: str = "") -> None:
        try:
            async with asyncio.timeout(self._settings.client_stall_seconds):
                await self._send(json.dumps(message))
                await self._websocket.close(close_code, reason)
        except TimeoutError:
            logger.info("client stopped reading", request_id=self._request_id)


class Outbox:
    """Messages that wait for the client, bounded in bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._messages: deque[str | bytes] = deque()
        self._filled = asyncio.Event()
        self._closed = False

    def put(self, message: str | bytes) -> None:
        """Append. Raises ApiError when the client has left too much unread."""
        self._bytes += len(message)
        if self._bytes > self._max_bytes:
            raise ApiError(408, "slow_client", "the audio was not read fast enough")
        self._messages.append(message)
        self._filled.set()

    def close(self) -> None:
        """No message follows."""
        self._closed = True
        self._filled.set()

    async def get(self) -> str | bytes | None:
        """The next message; None after the last."""
        while not self._messages:
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        message = self._messages.popleft()
        self._bytes -= len(message)
        return message


def _done_message(outcome: Outcome) -> dict[str, Any]:
    return {
        "type": "done",
        "audio_seconds": round(outcome.audio_seconds, 6),
        "first_audio_seconds": round(outcome.first_audio_seconds, 6),
        "queue_seconds": round(outcome.queue_seconds, 6),
        "rtf": round(outcome.real_time_factor, 6),
        "finish_reason": outcome.finish_reason,
        "seed": outcome.seed,
        "migrations": outcome.migrations,
    }
