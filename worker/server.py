"""Runs the app on a socket: binds before anything is loaded, and ends on a signal without dropping streams.

The first SIGTERM or SIGINT drains: open requests get `shutdown_seconds` to finish, the rest is cut with close
code 1012, which a gateway takes as the cue to continue them elsewhere. A second SIGINT does not wait. Where
somebody starts it again, a worker whose engine died or hangs ends by itself; one that could not load stays up
to say why, since it would fail again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from sockets.at_once import at_once_protocol
from sockets.hangup import ending_at_hangup
from telemetry.build import build
from worker.app import create_app
from worker.connections import http_protocol
from worker.engines.loading import EngineFactory, load_engine
from worker.lifecycle import Worker
from worker.protocol import WorkerState
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

_PING_SECONDS, _PONG_SECONDS = 5.0, 10.0
"""A gateway that vanished, or stands still, keeps the slots of its streams as long as both together."""
_CLOSE_SECONDS = 3
_WATCH_SECONDS = 1.0
_LOST_ENGINE_SECONDS = 5.0
"""How long `/health` tells of an engine that died or hangs before a supervised worker ends."""


class WorkerServer(uvicorn.Server):
    """A uvicorn server that lets the worker finish first."""

    def __init__(self, config: uvicorn.Config, worker: Worker) -> None:
        super().__init__(config)
        self._worker = worker
        self._stopping: asyncio.Task[None] | None = None
        self._restarting: asyncio.Task[None] | None = None
        worker.end_within = self._end_within
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal has been obeyed, or a supervised worker has lost its engine."""
        self._loop = asyncio.get_running_loop()
        watch = self._loop.create_task(self._watch_engine())
        try:
            await super().serve(sockets)
        finally:
            watch.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, and says where. From here on signals are obeyed."""
        await super().startup(sockets)
        if self.started:
            settings = self._worker.settings
            where = {"worker_id": self._worker.worker_id, "host": settings.host, "port": settings.port}
            logger.info("listening", **where, model=settings.model, build=build())

    async def _watch_engine(self) -> None:
        while not self.should_exit:
            await asyncio.sleep(_WATCH_SECONDS)
            if not self._worker.engine.is_lost or not self._worker.settings.supervised:
                continue
            logger.error("the engine is lost", error=self._worker.engine.error)
            await asyncio.sleep(_LOST_ENGINE_SECONDS)
            if self._worker.engine.is_lost:  # a step may have ended after all
                logger.error("ending, to be started again")
                self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Signal handler; runs between two bytecodes of the main thread."""
        if self._loop is None:
            self.should_exit = True
        else:
            self._loop.call_soon_threadsafe(self._stop, sig)

    def _stop(self, sig: int) -> None:
        if self._stopping is None:
            logger.info("stopping", signal=signal.Signals(sig).name)
            self._stopping = asyncio.create_task(self._finish(self._worker.settings.shutdown_seconds))
        elif sig == signal.SIGINT:
            self.should_exit = True

    def _end_within(self, wait_seconds: float) -> None:
        """For a restart; a signal that comes meanwhile is not kept waiting."""
        if self._stopping is None and self._restarting is None:
            logger.info("ending, to be started again", wait_seconds=wait_seconds)
            self._restarting = asyncio.create_task(self._finish(wait_seconds))

    async def _finish(self, wait_seconds: float) -> None:
        await self._worker.finish_open_requests(wait_seconds)
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    return listener


def server_config(app: FastAPI, settings: WorkerSettings) -> uvicorn.Config:
    """uvicorn as a worker needs it: bounded heads and messages, no compression."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=http_protocol(settings),
        ws=at_once_protocol(settings.send_timeout_seconds),
        ws_max_size=settings.max_request_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PONG_SECONDS,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )


def serve(settings: WorkerSettings, engine_factory: EngineFactory = load_engine) -> int:
    """Serve until a signal; the exit status. Raises OSError when the address cannot be listened on."""
    listener = listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    app = create_app(settings.model_copy(update={"port": port}), engine_factory)
    worker: Worker = app.state.worker
    config = server_config(app, settings)
    with ending_at_hangup():
        WorkerServer(config, worker).run(sockets=[listener])
    status = 1 if worker.state is WorkerState.ERROR else 0
    if worker.engine.is_loading or worker.engine.is_lost:
        # Native code of a half loaded model, or on a lost device, may not survive the interpreter's shutdown.
        os._exit(status)
    return status
