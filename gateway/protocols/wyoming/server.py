"""The port of Wyoming: open while the gateway runs, where a setting asks for it, and announced."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from gateway.edge.addresses import network
from gateway.protocols.wyoming.discovery import announced, reachable_addresses
from gateway.protocols.wyoming.speech import Connection
from gateway.service import Gateway

logger = structlog.get_logger(__name__)

_MOST_CONNECTIONS = 100
"""At once; more are closed."""
_MOST_OF_ONE = 50
"""The most connections of one address, so that none has them all."""


@asynccontextmanager
async def listening(gateway: Gateway) -> AsyncIterator[None]:
    """Serve for as long as the block lasts. Raises OSError when the port cannot be used."""
    settings = gateway.settings
    if settings.wyoming_port is None:
        yield
        return
    tasks: dict[asyncio.Task[None], str] = {}
    """The tasks of the connections, and the address of each."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = network((writer.get_extra_info("peername") or ("",))[0])
        if len(tasks) >= _MOST_CONNECTIONS or list(tasks.values()).count(address) >= _MOST_OF_ONE:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        tasks[task] = address
        try:
            # It is cancelled when the gateway ends, which asyncio's streams would report as a defect.
            with contextlib.suppress(asyncio.CancelledError):
                await Connection(gateway, reader, writer).run()
        finally:
            del tasks[task]

    limit = settings.max_message_bytes
    server = await asyncio.start_server(serve, settings.host, settings.wyoming_port, limit=limit)
    port = server.sockets[0].getsockname()[1]
    logger.info("listening for Wyoming", host=settings.host, port=port)
    try:
        async with announced(reachable_addresses(settings.host), port):
            yield
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
