"""An assistant on the port of Wyoming of a gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.forks import PATIENCE_SECONDS
from tests.gateway.stages.processes import GatewayProcess


def port_of(gateway: GatewayProcess) -> int:
    return next(json.loads(line)["port"] for line in gateway.log if '"listening for Wyoming"' in line)


class Assistant:
    """One connection; what it heard."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.pcm = b""

    def say(self, kind: str, **data: Any) -> None:
        body = json.dumps(data).encode() if data else b""
        self.writer.write(json.dumps({"type": kind, "data_length": len(body)}).encode() + b"\n" + body)

    async def receive(self) -> str | None:
        """The type of the next event; None when the gateway has closed."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            line = await self._reader.readline()
            if not line:
                return None
            head = json.loads(line)
            data = await self._reader.readexactly(head.get("data_length", 0))
            self.pcm += await self._reader.readexactly(head.get("payload_length", 0))
        self.events.append((head["type"], json.loads(data) if data else {}))
        return head["type"]

    async def ended(self) -> bool:
        """Whether the gateway closes, or cuts, the connection before it says anything."""
        try:
            return await self.receive() is None
        except ConnectionError:
            return True

    async def until(self, kind: str) -> dict[str, Any]:
        while (received := await self.receive()) != kind:
            assert received is not None, self.events
        return self.events[-1][1]

    def kinds(self) -> list[str]:
        """Of all events, a row of chunks being one."""
        kinds = [kind for kind, _ in self.events]
        return [kind for place, kind in enumerate(kinds) if kinds[place - 1 : place] != [kind]]


@asynccontextmanager
async def assistant(gateway: GatewayProcess, address: str = "127.0.0.1") -> AsyncIterator[Assistant]:
    """`address`: where it comes from, on loopback."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(gateway), local_addr=(address, 0))
    try:
        yield Assistant(reader, writer)
    finally:
        writer.close()
