"""Keeps the socket to one worker over which gateways and worker agree who may use a slot.

A worker of an older version has no such socket: it is asked again now and then, and used without. Everything
that a worker says here is bounded and checked; after anything else the socket is closed for a while.
"""

from __future__ import annotations

import asyncio

import structlog
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.protocol import State

from gateway.settings import GatewaySettings
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.connection import BoundedConnection, open_socket
from gateway.workers.whereabouts import NoAddressError, NotAllowedError, Whereabouts
from sockets.outbox import Outbox, UnreadError
from worker.protocol import (
    MAX_SLOT_MESSAGE_BYTES,
    SLOTS_PATH,
    GiveBack,
    Grant,
    Keep,
    ProtocolError,
    Waiting,
    decode_workers_slot_message,
)

logger = structlog.get_logger(__name__)

_RETRY_SECONDS = 1.0
_REFUSED_RETRY_SECONDS = 30.0
"""After the worker said that it knows no such socket, or what is no message."""
_ASK_AGAIN_SECONDS = 1.0
_PING_SECONDS = 10.0
_MOST_UNSENT_BYTES = 1 << 20


class SlotWatch:
    """Connects to one worker, again and again, until cancelled."""

    def __init__(
        self, worker: Worker, whereabouts: Whereabouts, pool: WorkerPool, settings: GatewaySettings
    ) -> None:
        self._worker = worker
        self._whereabouts = whereabouts
        self._pool = pool
        self._settings = settings

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            pause_seconds = await self._watch_once()
            await asyncio.sleep(pause_seconds)

    async def _watch_once(self) -> float:
        """Connect and listen until the socket is gone. Returns the seconds until the next try."""
        try:
            connection = await open_socket(
                self._whereabouts,
                SLOTS_PATH,
                BoundedConnection,
                open_timeout=self._settings.connect_timeout_seconds,
                ping_interval=_PING_SECONDS,
                ping_timeout=_PING_SECONDS,
                max_size=MAX_SLOT_MESSAGE_BYTES,
            )
            try:
                await self._listen(connection)
            finally:
                connection.transport.abort()
        except (InvalidStatus, NotAllowedError):
            return _REFUSED_RETRY_SECONDS
        except ProtocolError as error:
            logger.warning("a worker says of its slots what it may not", id=self._worker.id, error=str(error))
            return _REFUSED_RETRY_SECONDS
        except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed, NoAddressError) as error:
            logger.debug("no word about slots", id=self._worker.id, error=type(error).__name__)
        except Exception:
            logger.exception("slots are not watched for a moment", id=self._worker.id)
        return _RETRY_SECONDS

    async def _listen(self, connection: BoundedConnection) -> None:
        outbox = Outbox(connection.send, _MOST_UNSENT_BYTES, lambda error: connection.transport.abort())

        def say(message: Waiting | Keep | GiveBack) -> None:
            if connection.state is State.OPEN:
                try:
                    outbox.put(message.model_dump_json(exclude_none=True))
                except UnreadError:
                    connection.transport.abort()

        asking = asyncio.create_task(self._keep_asking())
        with self._pool.slots_change(self._worker):
            self._worker.sharing.opened(say)
        try:
            async for message in connection:
                self._take(message)
                await asyncio.sleep(0)  # a worker that says much holds up nobody else's frames
        finally:
            asking.cancel()
            outbox.drop()
            with self._pool.slots_change(self._worker):
                self._worker.sharing.closed()

    async def _keep_asking(self) -> None:
        """A grant that ran out, or was given back, made the worker think that nobody waits here."""
        while True:
            await asyncio.sleep(_ASK_AGAIN_SECONDS)
            self._worker.sharing.ask_again()

    def _take(self, text: str | bytes) -> None:
        message, sharing = decode_workers_slot_message(text), self._worker.sharing
        with self._pool.slots_change(self._worker):
            if isinstance(message, Grant):
                sharing.granted(message.number)
            else:
                sharing.stood(message.others, message.waiting)
