"""The wire to one worker: requests over pooled WebSockets, control over HTTP.

`async with client.generate(start) as stream` opens a request and yields its frames. Leaving the block early
asks the worker to cancel and waits a moment for its word, so that the slot is free there too when the lease
is given back here. A connection whose request ended in order is kept for the next one; any other is cut,
never closed politely, because the closing handshake of a worker that hangs would take seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import httpx
from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.frames import CloseCode
from websockets.protocol import State

from gateway.metronome import Metronome
from gateway.settings import GatewaySettings
from worker.protocol import (
    GENERATE_PATH,
    MAX_FRAME_BYTES,
    CancelRequest,
    ErrorCode,
    ErrorDetail,
    ErrorMessage,
    Frame,
    ProtocolError,
    StartRequest,
    WorkerStatus,
    decode_frame,
    decode_server_message,
)

_IDLE_CONNECTIONS = 64
_SECOND_LOOK_SECONDS = 0.05
_NO_SLOT = (ErrorCode.BUSY, ErrorCode.LOADING, ErrorCode.DRAINING)


class WorkerUnreachable(Exception):
    """No answer to a request or a probe: refused, timed out, not authorised, or not of this protocol."""


class WorkerRefused(Exception):
    """The worker lives and has no slot just now: all are used, it loads, or it drains."""


class RequestRejected(Exception):
    """The worker says that the request itself is wrong."""

    def __init__(self, detail: ErrorDetail) -> None:
        self.detail = detail
        super().__init__(detail.message)


class StreamBroken(Exception):
    """An accepted request will not be finished by this worker. `reason` is one of a few words."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class FrameStream:
    """The frames of one accepted request."""

    def __init__(
        self,
        connection: ClientConnection,
        request: StartRequest,
        settings: GatewaySettings,
        metronome: Metronome,
    ) -> None:
        self.finished = False
        """The last frame was received: the connection can be used again."""
        self.failure: ErrorDetail | None = None
        """What the worker said about a failure before its last frame."""
        self.sample_rate = 0
        self.model_revision = ""
        self._connection = connection
        self._request = request
        self._settings = settings
        self._metronome = metronome

    async def start(self) -> None:
        """Send the request, wait until it is accepted. Raises this module's errors, ConnectionClosed."""
        await self._connection.send(self._request.model_dump_json(exclude_none=True))
        answer = decode_server_message(await self._connection.recv(decode=True))
        if isinstance(answer, ErrorMessage):
            self.finished = True
            if answer.error.code in _NO_SLOT:
                raise WorkerRefused(answer.error.message)
            if answer.error.type == "invalid_request_error":
                raise RequestRejected(answer.error)
            raise WorkerUnreachable(answer.error.message)
        self.sample_rate = answer.sample_rate
        self.model_revision = answer.model_revision

    async def next_frame(self) -> Frame:
        """The next frame of this attempt, heartbeats included. Raises StreamBroken."""
        try:
            frame = decode_frame(await self._next_binary())
        except TimeoutError as error:
            raise StreamBroken("silence", "the worker fell silent") from error
        except ConnectionClosed as error:
            if error.rcvd is not None and error.rcvd.code == CloseCode.SERVICE_RESTART:
                raise StreamBroken("leaving", "the worker ends") from error
            raise StreamBroken("closed", "the connection to the worker broke") from error
        except ProtocolError as error:
            raise StreamBroken("corrupt", f"a frame could not be read: {error}") from error
        if (frame.request_id, frame.attempt) != (self._request.request_id, self._request.attempt):
            raise StreamBroken("stale", "a frame of another attempt arrived")
        self.finished = frame.last
        return frame

    async def cancel(self) -> None:
        """Ask the worker to stop, and skip frames until it confirms. Raises StreamBroken, TimeoutError."""
        if self.finished:
            return
        async with asyncio.timeout(self._settings.cancel_timeout_seconds):
            with contextlib.suppress(ConnectionClosed):
                await self._connection.send(CancelRequest().model_dump_json())
            while not self.finished:
                await self.next_frame()

    async def _next_binary(self) -> bytes:
        while True:
            message = await self._receive()
            if isinstance(message, bytes):
                return message
            answer = decode_server_message(message)
            if not isinstance(answer, ErrorMessage):
                raise ProtocolError("a second answer to one request")
            self.failure = answer.error

    async def _receive(self) -> str | bytes:
        """The next message. A gateway that is held up itself looks twice before it blames the worker."""
        limit_seconds = self._settings.frame_timeout_seconds
        try:
            async with asyncio.timeout(limit_seconds):
                return await self._connection.recv()
        except TimeoutError:
            async with asyncio.timeout(_SECOND_LOOK_SECONDS + self._metronome.allowance(limit_seconds)):
                return await self._connection.recv()


def _renamed(request: StartRequest, tries: int) -> StartRequest:
    if not tries:
        return request
    return request.model_copy(update={"request_id": f"{request.request_id}-{tries}"})


class WorkerClient:
    """Everything the gateway says to one worker."""

    def __init__(
        self, url: str, settings: GatewaySettings, http: httpx.AsyncClient, metronome: Metronome
    ) -> None:
        self._url = url
        self._settings = settings
        self._http = http
        self._metronome = metronome
        self._idle: list[ClientConnection] = []
        secret = settings.worker_secret
        self._headers = {"Authorization": f"Bearer {secret.get_secret_value()}"} if secret else {}
        parts = urlsplit(url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        self._socket_url = urlunsplit((scheme, parts.netloc, GENERATE_PATH, "", ""))

    @asynccontextmanager
    async def generate(self, request: StartRequest) -> AsyncIterator[FrameStream]:
        """Open `request`. Raises WorkerUnreachable, WorkerRefused, RequestRejected when it does not."""
        connection, stream = await self._open(request)
        try:
            yield stream
        except StreamBroken:
            raise
        except BaseException:
            with contextlib.suppress(StreamBroken, TimeoutError):
                await stream.cancel()
            raise
        finally:
            self._give_back(connection, reusable=stream.finished)

    async def _open(self, request: StartRequest) -> tuple[ClientConnection, FrameStream]:
        """On an idle connection if there is one. Where that turns out to be closed, nothing was generated.

        The worker may still have read the request, so each try has an id of its own.
        """
        tries = 0
        while self._idle:
            try:
                return await self._start(self._idle.pop(), _renamed(request, tries))
            except ConnectionClosed:
                tries += 1
        try:
            return await self._start(await self._connect(), _renamed(request, tries))
        except ConnectionClosed as error:
            raise WorkerUnreachable(f"the worker closed the connection: {error}") from error

    async def _start(
        self, connection: ClientConnection, request: StartRequest
    ) -> tuple[ClientConnection, FrameStream]:
        stream = FrameStream(connection, request, self._settings, self._metronome)
        limit_seconds = self._settings.accept_timeout_seconds
        try:
            async with asyncio.timeout(limit_seconds + self._metronome.allowance(limit_seconds)):
                await stream.start()
        except TimeoutError as error:
            connection.transport.abort()
            raise WorkerUnreachable("the worker did not answer a request") from error
        except ProtocolError as error:
            connection.transport.abort()
            raise WorkerUnreachable(str(error)) from error
        except BaseException:
            self._give_back(connection, reusable=stream.finished)
            raise
        return connection, stream

    async def _connect(self) -> ClientConnection:
        limit_seconds = self._settings.connect_timeout_seconds
        try:
            return await connect(
                self._socket_url,
                additional_headers=self._headers,
                open_timeout=limit_seconds + self._metronome.allowance(limit_seconds),
                ping_interval=None,
                compression=None,
                max_size=MAX_FRAME_BYTES,
                proxy=None,
            )
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise WorkerUnreachable(f"{type(error).__name__}: {error}") from error

    def _give_back(self, connection: ClientConnection, *, reusable: bool) -> None:
        if reusable and connection.state is State.OPEN and len(self._idle) < _IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.transport.abort()

    def drop_connections(self) -> None:
        """Cut the idle connections: the worker failed, or the gateway ends."""
        while self._idle:
            self._idle.pop().transport.abort()

    # ------------------------------------------------------------------------------------------------ control

    async def status(self) -> WorkerStatus:
        """`GET /health`. Raises WorkerUnreachable."""
        return await self._control("GET", "/health")

    async def drain(self) -> WorkerStatus:
        """Let open requests finish and refuse new ones. Raises WorkerUnreachable."""
        return await self._control("POST", "/drain")

    async def resume(self) -> WorkerStatus:
        """Undo `drain`. Raises WorkerUnreachable."""
        return await self._control("POST", "/resume")

    async def _control(self, method: str, path: str) -> WorkerStatus:
        try:
            async with asyncio.timeout(self._settings.health_timeout_seconds):
                response = await self._http.request(method, self._url + path, headers=self._headers)
            response.raise_for_status()
            return WorkerStatus.model_validate_json(response.content)
        except (httpx.HTTPError, TimeoutError) as error:
            raise WorkerUnreachable(f"{type(error).__name__}: {error}") from error
        except ValidationError as error:
            raise WorkerUnreachable(f"not a worker's status: {error.errors()[0]['msg']}") from error
