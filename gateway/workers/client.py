"""The wire to one worker: requests over pooled WebSockets, and its `control` over HTTP.

`async with client.generate(start) as stream` opens a request and yields its frames. Leaving the block early
asks the worker to cancel and waits a moment for its word, so that the slot is free there too when the lease
is given back here. A connection whose request ended in order is kept for the next one; any other is cut,
never closed politely, because the closing handshake of a worker that hangs would take seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.protocol import State

from gateway.settings import GatewaySettings
from gateway.workers.connection import WorkerConnection, open_socket
from gateway.workers.control import WorkerControl
from gateway.workers.frame_stream import (
    FrameStream,
    RequestRejected,
    StreamBroken,
    WorkerRefused,
    WorkerUnreachable,
)
from gateway.workers.metronome import Metronome
from gateway.workers.whereabouts import NoAddressError, NotAllowedError, Whereabouts
from worker.protocol import GENERATE_PATH, MAX_FRAME_BYTES, UNKNOWN_ADAPTER, ProtocolError, Start

__all__ = [
    "FrameStream",
    "RequestRejected",
    "StreamBroken",
    "WorkerClient",
    "WorkerRefused",
    "WorkerUnreachable",
]

ReadAdapter = Callable[[str], Awaitable[bytes]]
"""Digest -> an adapter as a worker gets it."""


_MOST_SENT = 3
"""So often an adapter is sent for one try of a request."""


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
        self._metronome = metronome
        self._whereabouts = whereabouts or Whereabouts(url, secret=settings.worker_secret)
        self.control = WorkerControl(settings, http, self._whereabouts)
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
            times_lost = self.control.times_lost
            async with self._sending_adapter:  # whoever waited here for the same one finds it
                if self.control.times_lost > times_lost:
                    raise WorkerUnreachable("the worker counted as down meanwhile")
                opened = await self._open_with_adapter(request)
        connection, stream = opened
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

    async def _open_with_adapter(self, request: Start) -> tuple[WorkerConnection, FrameStream]:
        """Send the adapter of the request where the worker lacks it, and open the request.

        What other gateways send may push it out before that. Raises WorkerRefused where it does so each time.
        """
        for left in reversed(range(_MOST_SENT + 1)):
            if (opened := await self._open_if_there(request)) is not None:
                return opened
            if left:
                digest = request.adapter.digest
                await self.control.send_adapter(await self._read_adapter(digest), digest)
        raise WorkerRefused("adapters of other requests leave no room for this one")

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
            raise WorkerUnreachable.by(error) from error

    def _give_back(self, connection: WorkerConnection, *, reusable: bool) -> None:
        connection.listener = None
        if reusable and connection.state is State.OPEN:
            self._idle.append(connection)
        else:
            connection.transport.abort()

    def lose(self) -> None:
        """The worker counts as down, or is away: nothing is waited for any more but streams that run."""
        self.drop_connections()
        self.control.give_up()

    def drop_connections(self) -> None:
        """Cut the idle connections: the worker failed, or the gateway ends."""
        while self._idle:
            self._idle.pop().transport.abort()
