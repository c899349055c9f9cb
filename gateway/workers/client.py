"""The wire to one worker: requests over pooled WebSockets, control over HTTP.

`async with client.generate(start) as stream` opens a request and yields its frames. Leaving the block early
asks the worker to cancel and waits a moment for its word, so that the slot is free there too when the lease
is given back here. A connection whose request ended in order is kept for the next one; any other is cut,
never closed politely, because the closing handshake of a worker that hangs would take seconds. A worker is
believed within bounds: its answers are read up to a limit, as they are sent, and its redirects not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

import httpx
from pydantic import BaseModel, ValidationError
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.protocol import State

from gateway.settings import GatewaySettings
from gateway.workers.connection import WorkerConnection, open_socket
from gateway.workers.frame_stream import (
    NO_SLOT,
    FrameStream,
    RequestRejected,
    StreamBroken,
    WorkerRefused,
    WorkerUnreachable,
)
from gateway.workers.metronome import Metronome
from gateway.workers.whereabouts import Endpoint, NoAddressError, NotAllowedError, Whereabouts
from worker.protocol import (
    ADAPTERS_PATH,
    GENERATE_PATH,
    MAX_FRAME_BYTES,
    MAX_REQUEST_BYTES,
    MAX_STATUS_BYTES,
    UNKNOWN_ADAPTER,
    AdapterDescription,
    EncodeResponse,
    ErrorCode,
    ErrorDetail,
    ProtocolError,
    Start,
    WorkerStatus,
)

__all__ = [
    "FrameStream",
    "RequestRejected",
    "StreamBroken",
    "WorkerClient",
    "WorkerRefused",
    "WorkerUnreachable",
]

_ENCODE_SECONDS = 60.0
"""Bound of encoding a minute of audio, which a large model on a CPU takes its time for."""
_ADAPTER_SECONDS = 60.0
"""Bound of sending an adapter and of putting it in form."""

Answer = TypeVar("Answer", bound=BaseModel)
ReadAdapter = Callable[[str], Awaitable[bytes]]
"""Digest -> an adapter as a worker gets it."""


def _renamed(request: Start, tries: int) -> Start:
    if not tries:
        return request
    return request.model_copy(update={"request_id": f"{request.request_id}-{tries}"})


class WorkerClient:
    """Everything the gateway says to one worker."""

    def __init__(
        self,
        url: str,
        settings: GatewaySettings,
        http: httpx.AsyncClient,
        metronome: Metronome,
        whereabouts: Whereabouts | None = None,
        read_adapter: ReadAdapter | None = None,
    ) -> None:
        """`whereabouts`: its URL with the networks in which it may be and the secret that it is shown.
        `read_adapter`: for a worker that lacks one.
        """
        self._settings = settings
        self._http = http
        self._metronome = metronome
        self._whereabouts = whereabouts or Whereabouts(url, secret=settings.worker_secret)
        self._read_adapter = read_adapter
        self._sending_adapter = asyncio.Lock()
        self._idle: list[WorkerConnection] = []
        """Never more than the worker has slots; those that it has closed are found out when they are used."""

    @asynccontextmanager
    async def generate(self, request: Start) -> AsyncIterator[FrameStream]:
        """Open `request`, with the adapter that it may name sent first where the worker lacks it.

        Raises WorkerUnreachable, WorkerRefused, RequestRejected when it does not.
        """
        opened = await self._open_if_there(request)
        if opened is None:
            async with self._sending_adapter:  # whoever waited here for the same one finds it
                opened = await self._open_if_there(request)
                if opened is None:
                    digest = request.adapter.digest
                    await self.send_adapter(await self._read_adapter(digest), digest)
        connection, stream = opened or await self._open(request)
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

    async def _open_if_there(self, request: Start) -> tuple[WorkerConnection, FrameStream] | None:
        """None where the worker lacks the adapter of the request."""
        try:
            return await self._open(request)
        except RequestRejected as error:
            if error.detail.code != UNKNOWN_ADAPTER or request.adapter is None or self._read_adapter is None:
                raise
        return None

    async def _open(self, request: Start) -> tuple[WorkerConnection, FrameStream]:
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
        self, connection: WorkerConnection, request: Start
    ) -> tuple[WorkerConnection, FrameStream]:
        stream = FrameStream(connection, request, self._settings, self._metronome)
        limit_seconds = self._settings.accept_timeout_seconds
        try:
            async with asyncio.timeout(limit_seconds + self._metronome.allowance(limit_seconds)):
                await stream.start()
        except TimeoutError as error:
            connection.transport.abort()
            self.drop_connections()  # whatever made this one mute may have done so to those kept beside it
            raise WorkerUnreachable("the worker did not answer a request") from error
        except ProtocolError as error:
            connection.transport.abort()
            raise WorkerUnreachable(str(error)) from error
        except BaseException:
            self._give_back(connection, reusable=stream.finished)
            raise
        return connection, stream

    async def _connect(self) -> WorkerConnection:
        limit_seconds = self._settings.connect_timeout_seconds
        try:
            return await open_socket(
                self._whereabouts,
                GENERATE_PATH,
                WorkerConnection,
                open_timeout=limit_seconds + self._metronome.allowance(limit_seconds),
                ping_interval=None,
                max_size=MAX_FRAME_BYTES,
            )
        except (NotAllowedError, NoAddressError) as error:
            raise WorkerUnreachable(str(error)) from error
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise WorkerUnreachable(f"{type(error).__name__}: {error}") from error

    async def _endpoint(self) -> Endpoint:
        try:
            return await self._whereabouts.endpoint()
        except (NotAllowedError, NoAddressError) as error:
            raise WorkerUnreachable(str(error)) from error

    def _give_back(self, connection: WorkerConnection, *, reusable: bool) -> None:
        connection.listener = None
        if reusable and connection.state is State.OPEN:
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

    async def encode(self, audio: bytes, role: Literal["reference", "prompt"]) -> EncodeResponse:
        """`POST /encode` of an audio file. Raises WorkerUnreachable, WorkerRefused, RequestRejected."""
        is_success, answer = await self._ask(
            *("POST", f"/encode?role={role}", _ENCODE_SECONDS, MAX_REQUEST_BYTES), content=audio
        )
        return self._agreed(EncodeResponse, is_success, answer)

    async def send_adapter(self, body: bytes, digest: str | None = None) -> AdapterDescription:
        """`POST /adapters` of what `pack_adapter` made; `digest`: that it has to have.

        Raises WorkerUnreachable, WorkerRefused, RequestRejected.
        """
        query = f"?digest={digest}" if digest else ""
        is_success, answer = await self._ask(
            *("POST", ADAPTERS_PATH + query, _ADAPTER_SECONDS, MAX_STATUS_BYTES), content=body
        )
        return self._agreed(AdapterDescription, is_success, answer)

    def _agreed(self, kind: type[Answer], is_success: bool, answer: bytes) -> Answer:
        """Of what a worker may refuse. Raises WorkerUnreachable, WorkerRefused, RequestRejected."""
        try:
            if is_success:
                return kind.model_validate_json(answer)
            detail = ErrorDetail.model_validate(json.loads(answer)["error"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise WorkerUnreachable("not a worker's answer") from error
        if detail.code in NO_SLOT:
            raise WorkerRefused(detail.message)
        if detail.type == "invalid_request_error" and detail.code != ErrorCode.SLOW_SENDER:
            raise RequestRejected(detail)
        raise WorkerUnreachable(detail.message)

    async def shut_down(self, wait_seconds: float) -> WorkerStatus:
        """Let open requests finish for so long, and have the process end. Raises WorkerUnreachable."""
        return await self._control("POST", f"/shutdown?wait_seconds={wait_seconds:g}")

    async def _control(self, method: str, path: str) -> WorkerStatus:
        limit_seconds = self._settings.health_timeout_seconds
        is_success, answer = await self._ask(method, path, limit_seconds, MAX_STATUS_BYTES)
        if not is_success:
            raise WorkerUnreachable("the worker answers with an error")
        try:
            return WorkerStatus.model_validate_json(answer)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"]))
            raise WorkerUnreachable(f"not a worker's status: {field}: {first['msg']}") from error

    async def _ask(
        self, method: str, path: str, limit_seconds: float, max_bytes: int, content: bytes | None = None
    ) -> tuple[bool, bytes]:
        """Whether the worker agreed, and its answer of `max_bytes` at most. Raises WorkerUnreachable."""
        try:
            async with asyncio.timeout(limit_seconds):
                where = await self._endpoint()
                request = self._http.build_request(
                    method,
                    where.url + path,
                    content=content,
                    headers={**self._whereabouts.headers, "Host": where.host, "Accept-Encoding": "identity"},
                    timeout=None,
                    extensions={"sni_hostname": where.name},
                )
                response = await self._http.send(request, stream=True, follow_redirects=False)
                try:
                    return response.is_success, await _read(response, max_bytes)
                finally:
                    await response.aclose()
        except (httpx.HTTPError, TimeoutError) as error:
            self._whereabouts.look_again()
            raise WorkerUnreachable(f"{type(error).__name__}: {error}") from error


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    """The body as it was sent: nothing is unpacked. Raises WorkerUnreachable for one that is too long."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise WorkerUnreachable("the worker packs its answer, which it was asked not to do")
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > max_bytes:
            raise WorkerUnreachable(f"the worker's answer has more than {max_bytes} bytes")
    return bytes(body)
