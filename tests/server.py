"""An ASGI server in the process of a test."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn


class Server(uvicorn.Server):
    """Says when it listens, and where; signals stay with the test's process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.port: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.port.set_result(self.servers[0].sockets[0].getsockname()[1])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None. A server that starts in one run of an event loop and ends in another would put the handler of
        the first run back for good, and an interrupt would end nothing that comes later."""
        yield


@contextlib.asynccontextmanager
async def running(config: uvicorn.Config) -> AsyncIterator[Server]:
    """A server that listens, and is ended."""
    server = Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.wait([serving, server.port], return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        yield server
    finally:
        server.should_exit = True
        await serving
