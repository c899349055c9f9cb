"""A client of a socket, for tests: it remembers what it was told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.forks import PATIENCE_SECONDS


class Told:
    """One socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.said: list[dict[str, Any]] = []

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            self.said.append(json.loads(await self.socket.recv()))
        return self.said[-1]

    async def hear_rest(self) -> int:
        """Everything until the gateway closes; the close code."""
        try:
            while True:
                await self.hear()
        except ConnectionClosed:
            return self.socket.close_code
