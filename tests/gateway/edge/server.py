"""A server in this process, with an application of one WebSocket, or one that counts what it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from gateway.cli import server_config
from gateway.settings import load_settings
from sockets.at_once import SEND_AT_ONCE
from tests.server import running


class Application:
    """Accepts one WebSocket, keeps its scope, and ends when that is closed."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self.send: Callable[[str | bytes], Any] | None = None
        self.accepted = asyncio.Event()
        self.left = asyncio.Event()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            return

        async def send_bytes(message: str | bytes) -> None:
            await send({"type": "websocket.send", "bytes": message})

        self.scope, self.send = scope, send_bytes
        await receive()
        await send({"type": "websocket.accept"})
        self.accepted.set()
        while (await receive())["type"] != "websocket.disconnect":
            pass
        await self.finish()
        self.left.set()

    async def finish(self) -> None:
        """What is done when it is closed."""


@asynccontextmanager
async def served(
    kind: type[Application] = Application,
) -> AsyncIterator[tuple[Application, ClientConnection, Callable[[str | bytes], bool]]]:
    """An application, its client, who keeps one message that nobody took, and the way past ASGI."""
    application = kind()
    settings = load_settings(worker_urls="http://127.0.0.1:9", port=0)
    async with running(server_config(settings, application)) as server:
        url = f"ws://127.0.0.1:{await server.port}"
        client = await connect(url, proxy=None, compression=None, max_queue=1)
        await application.accepted.wait()
        yield application, client, application.scope["extensions"][SEND_AT_ONCE]
        client.transport.abort()


async def say_length(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the number of bytes in the body."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server with the gateway's bounds."""
    config = server_config(load_settings(worker_urls="http://127.0.0.1:9", port=0), say_length)
    config.lifespan = "off"
    async with running(config) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", await server.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
