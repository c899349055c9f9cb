"""Entry point of a gateway process: `voxfleet gateway --workers http://127.0.0.1:22400 --port 8006`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import socket
import sys
import threading
from pathlib import Path
from types import FrameType

import structlog
import uvicorn
import yaml
from fastapi import FastAPI
from pydantic import ValidationError

from gateway.api.transfer.upload import UPLOAD_PATHS, UPLOAD_SECONDS
from gateway.app import create_app
from gateway.audio.perth import WatermarkMissingError, networks
from gateway.database import DatabaseError
from gateway.edge.certificate import followed
from gateway.edge.connections.crowd import Crowd, raise_descriptor_limit
from gateway.edge.connections.http import http_protocol
from gateway.edge.connections.reading import Readers
from gateway.edge.connections.websocket import websocket_protocol
from gateway.edge.unfinished import UnfinishedFilter
from gateway.heaps import share_heaps
from gateway.lexicons.file import read_file
from gateway.log import configure_logging
from gateway.settings import GatewaySettings, load_settings
from gateway.timing.aligner import open_aligner
from gateway.timing.whisper import AlignerMissingError
from sockets.hangup import ending_at_hangup
from sockets.setting_words import each_problem
from telemetry.build import build
from telemetry.process import TelemetryMissingError, check_installed

logger = structlog.get_logger(__name__)

_KEEP_ALIVE_SECONDS = 65
"""More than clients (5 s in Python) and proxies (60 s) keep a connection for their next request: else it is
closed while that is on its way, and clients cannot tell whether it was heard.
"""
_PING_SECONDS = 15.0
_LAST_WORDS_SECONDS = 2
_BREAK_OFF_SECONDS = 0.5
"""For a start that a signal ends. The thread that looks up the host of a database cannot be broken off."""
REFUSED = 2
"""The exit status of a gateway that cannot start with these settings."""


class DrainingServer(uvicorn.Server):
    """Lets running requests finish before it stops listening. A second signal ends it at once."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        config.lifespan = "off"  # `_serve` has it, and says in one line what keeps it from beginning
        super().__init__(config)
        self._app, self._gateway = app, app.state.gateway
        self._closing: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        """Which a signal cancels, since it may wait for a database."""
        self.refusal: str | None = None
        """Why there is nothing to serve."""

    async def _serve(self, sockets: list[socket.socket] | None = None) -> None:
        async with contextlib.AsyncExitStack() as life:
            if not await self._begin(life):
                return
            if not self.config.loaded:
                self.config.load()
            files = self._gateway.settings.tls_certificate, self._gateway.settings.tls_key
            await life.enter_async_context(followed(self.config.ssl, *files))
            await super()._serve(sockets)

    async def _begin(self, life: contextlib.AsyncExitStack) -> bool:
        """Whether the application has begun, and there is something to serve."""
        self._starting = asyncio.current_task()
        try:
            if not self.should_exit:
                await life.enter_async_context(self._app.router.lifespan_context(self._app))
        except (DatabaseError, OSError) as error:
            self.refusal = None if self.should_exit else str(error)
            return False
        except asyncio.CancelledError:
            return False
        finally:
            self._starting = None
        return not self.should_exit

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, and says where: with port 0 only the socket knows."""
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # modules and schemas stay; going through them again and again would hold up audio
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            workers = self._gateway.settings.worker_urls
            logger.info("listening", host=host, port=port, workers=workers, build=build())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called by uvicorn's signal handlers, between two bytecodes of the main thread."""
        if self._gateway.closing:
            self._gateway.hurry()
            super().handle_exit(sig, frame)
            return
        self._gateway.closing = True
        self.should_exit = not self.started
        asyncio.get_running_loop().call_soon_threadsafe(self._begin_closing)

    def _begin_closing(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            end = threading.Timer(_BREAK_OFF_SECONDS, os._exit, [0])
            end.daemon = True
            end.start()
        elif not self.should_exit:
            self._closing = asyncio.create_task(self._close())

    async def _close(self) -> None:
        logger.info("shutting down", running=len(self._gateway.pool.tickets))
        await self._gateway.close()
        self.should_exit = True


def server_config(
    settings: GatewaySettings, gateway_app: object, crowd: Crowd | None = None
) -> uvicorn.Config:
    """uvicorn as the gateway needs it: bounded messages, no compression, no trust in forwarded headers.

    crowd: counts connections; None: one of its own.
    """
    crowd, readers = Crowd(settings) if crowd is None else crowd, Readers()
    return uvicorn.Config(
        gateway_app,
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        http=http_protocol(settings, crowd, readers, dict.fromkeys(UPLOAD_PATHS, UPLOAD_SECONDS)),
        ws=websocket_protocol(settings, crowd, readers),
        ws_max_size=settings.max_message_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PING_SECONDS,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
    )


def run(
    *,
    config: Path | str | None = None,
    workers: list[str] | str | None = None,
    host: str | None = None,
    port: int | None = None,
    max_queue: int | None = None,
) -> int:
    """Run a gateway until SIGTERM or SIGINT; the exit status of the process.

    Options that are None come from the environment or from the section `gateway` of the YAML file
    `config`. 0: ended as asked; 1: could not listen; 2: a setting is wrong, or names what cannot be used.
    """
    try:
        settings = load_settings(
            Path(config) if config else None, worker_urls=workers, host=host, port=port, max_queue=max_queue
        )
    except ValidationError as error:
        for problem in each_problem(error):
            refused(problem)
        return REFUSED
    except (OSError, ValueError, yaml.YAMLError) as error:
        return refused(error)
    if (reason := _why_unusable(settings)) is not None:
        return refused(reason)
    return serve(settings)


def _why_unusable(settings: GatewaySettings) -> str | None:
    """What is asked for and is not here; None where nothing is missing."""
    if not settings.worker_urls and settings.worker_secret is None and not settings.worker_secrets:
        return "no workers; give --workers URL,URL, or VOXFLEET_WORKER_SECRET for workers that dial in"
    if settings.watermark:
        try:
            networks()
        except WatermarkMissingError as error:
            return f"watermark: {error}"
    try:
        open_aligner(settings.aligner)
    except AlignerMissingError as error:
        return f"aligner: {error}"
    try:
        read_file(settings.lexicon_file)
    except ValueError as error:
        return str(error)
    try:
        check_installed(settings)
    except TelemetryMissingError as error:
        return f"otlp_endpoint: {error}"
    return None


def refused(reason: object) -> int:
    """Says why nothing is served, on one line; the exit status."""
    print(f"voxfleet gateway: {' '.join(str(reason).split())}", file=sys.stderr)
    return REFUSED


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets, one for each address of `host`. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    with contextlib.ExitStack() as opened:
        sockets = [
            opened.enter_context(socket.create_server(address, family=family))
            for family, address in dict.fromkeys((family, address) for family, *_, address in found)
        ]
        opened.pop_all()
    return sockets


def serve(settings: GatewaySettings) -> int:
    """Listen and serve until a signal; the exit status, see `run`."""
    configure_logging(settings.log_level)
    share_heaps()
    logging.getLogger("uvicorn.error").addFilter(UnfinishedFilter())
    raise_descriptor_limit()
    try:
        sockets = listen(settings.host, settings.port)
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        print(f"voxfleet gateway: cannot listen on {where}: {error.strerror}", file=sys.stderr)
        return 1
    try:
        app = create_app(settings)
    except DatabaseError as error:
        return refused(f"database_url: {error}")
    server = DrainingServer(server_config(settings, app, app.state.gateway.crowd), app)
    try:
        with ending_at_hangup():
            server.run(sockets)
    except KeyboardInterrupt:
        return 0
    except SystemExit:
        return 1
    if server.refusal is not None:
        return refused(server.refusal)
    return 0 if server.started or server.should_exit else 1
