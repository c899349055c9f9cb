"""The way past ASGI: messages that need not wait leave at once, and all others go the long way in order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from gateway.cli import server_config
from gateway.edge.outbox import Outbox
from gateway.settings import load_settings
from sockets.at_once import SEND_AT_ONCE

PIECE = bytes(50_000)


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
        self.left.set()


class Server(uvicorn.Server):
    """Says when it listens, and where."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.port: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.port.set_result(self.servers[0].sockets[0].getsockname()[1])


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Application, ClientConnection, Callable[[str | bytes], bool]]]:
    """An application, its client, who keeps one message that nobody took, and the way past ASGI."""
    application = Application()
    settings = load_settings(worker_urls="http://127.0.0.1:9", port=0)
    server = Server(server_config(settings, application))
    running = asyncio.create_task(server.serve())
    try:
        url = f"ws://127.0.0.1:{await server.port}"
        client = await connect(url, proxy=None, compression=None, max_queue=1)
        await application.accepted.wait()
        yield application, client, application.scope["extensions"][SEND_AT_ONCE]
        client.transport.abort()
    finally:
        server.should_exit = True
        await running


async def test_messages_leave_at_once_until_the_client_must_read_and_again_afterwards() -> None:
    async with served() as (application, client, send_at_once):
        sent = 0
        while send_at_once(sent.to_bytes(4) + PIECE):
            sent += 1
        assert sent
        failures: list[Exception] = []
        outbox = Outbox(application.send, 100 * len(PIECE), failures.append, send_at_once)
        for number in range(sent, sent + 3):
            outbox.put(number.to_bytes(4) + PIECE)
        heard = [int.from_bytes((await client.recv())[:4]) for _ in range(sent + 3)]
        await outbox.flush()
        assert heard == list(range(sent + 3))
        assert send_at_once("text")
        assert await client.recv() == "text"
        assert not failures


async def test_nothing_is_sent_to_a_client_that_has_left_and_nothing_holds_its_connection() -> None:
    async with served() as (application, client, send_at_once):
        client.transport.abort()
        await application.left.wait()
        assert not send_at_once(b"late")
        assert SEND_AT_ONCE not in application.scope["extensions"]


async def test_nothing_is_sent_after_the_end_was_announced() -> None:
    async with served() as (_, client, send_at_once):
        await client.close()
        assert not send_at_once(b"late")


async def test_what_can_be_sent_at_once_does_not_overtake_what_waits() -> None:
    heard: list[str | bytes] = []
    opened = asyncio.Event()
    at_once = [False, True, True]

    async def send(message: str | bytes) -> None:
        await opened.wait()
        heard.append(message)

    def send_at_once(message: str | bytes) -> bool:
        if may := at_once.pop(0):
            heard.append(message)
        return may

    outbox = Outbox(send, 100, lambda error: None, send_at_once)
    outbox.put("waits")
    outbox.put("waits behind it")
    opened.set()
    await outbox.flush()
    outbox.put("goes at once")
    assert heard == ["waits", "waits behind it", "goes at once"]
