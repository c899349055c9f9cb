"""A TCP proxy in front of one server that refuses, delays, corrupts, stalls or cuts, as it is told.

async with FaultProxy(22400) as proxy:
    ...                               # clients connect to proxy.port
    proxy.delay_seconds = 0.02        # every piece of data, in both directions
    proxy.jitter_seconds = 0.1        # and up to so much more, drawn anew for each piece of the server
    proxy.corrupt_next()              # one byte of the server's next piece
    proxy.cut()                       # all connections, with a reset
    await proxy.refuse()              # new connections, until `accept`
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
_PIECE_BYTES = 1 << 16


class FaultProxy:
    """Forwards to `target_port` on this machine. Faults are drawn from `draw`."""

    def __init__(self, target_port: int, draw: random.Random | None = None) -> None:
        self.port = 0
        self.delay_seconds = 0.0
        self.jitter_seconds = 0.0
        self._target_port = target_port
        self._draw = draw or random.Random(0)
        self._corruptions = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.refuse()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def accept(self) -> None:
        """Listen, at the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Refuse new connections; those that are open stay."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def cut(self) -> None:
        """Reset every open connection."""
        for writer in self._writers:
            writer.transport.abort()

    def corrupt_next(self, pieces: int = 1) -> None:
        """Change a byte in each of the next pieces that the server sends."""
        self._corruptions += pieces

    def stall(self) -> None:
        """Let nothing through, and keep the connections."""
        self._flowing.clear()

    def flow(self) -> None:
        """The end of `stall`."""
        self._flowing.set()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._connection(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(HOST, self._target_port)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, upstream_writer}
        self._writers |= both
        pumps = [
            asyncio.create_task(self._pump(reader, upstream_writer, from_server=False)),
            asyncio.create_task(self._pump(upstream_reader, writer, from_server=True)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            self._writers -= both
            for one in both:
                one.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_server: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                delay = self.delay_seconds + from_server * self._draw.uniform(0, self.jitter_seconds)
                if delay:
                    await asyncio.sleep(delay)
                await self._flowing.wait()
                if from_server and self._corruptions:
                    self._corruptions -= 1
                    piece = self._corrupted(piece)
                writer.write(piece)
                await writer.drain()

    def _corrupted(self, piece: bytes) -> bytes:
        changed = bytearray(piece)
        changed[self._draw.randrange(len(changed))] ^= 1 << self._draw.randrange(8)
        return bytes(changed)
