"""Large answers whose clients do not read them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gateway.app import create_app
from gateway.edge.memory import SMALL_BYTES
from gateway.edge.unread import UnreadAnswers
from gateway.settings import load_settings

LARGE = 16 << 20


class Client:
    """One that reads nothing until it is told to."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        self.scope = {
            "type": "http", "method": "GET", "path": "/large", "query_string": b"", "http_version": "1.1",
            "scheme": "http", "server": ("localhost", 80), "client": (address, 1),
            "headers": [(b"host", b"localhost")],
        }  # fmt: skip
        self.messages: list[dict[str, Any]] = []
        self.asked = asyncio.Event()
        self._reads = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self.asked.set()
        await self._reads.wait()

    def read(self) -> None:
        self._reads.set()

    @property
    def status(self) -> int:
        return self.messages[0]["status"]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def nothing() -> dict[str, Any]:
    """Nothing comes from a client any more."""
    return await asyncio.get_running_loop().create_future()


async def asked(response: Callable[[], Response], *clients: Client) -> list[asyncio.Task[None]]:
    """Each has asked, and has something to read."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await response()(scope, receive, send)

    bounded = UnreadAnswers(app, lambda connection: connection.client.host)
    tasks = []
    for client in clients:
        tasks.append(asyncio.create_task(bounded(client.scope, nothing, client.send)))
        await client.asked.wait()
    return tasks


def large() -> Response:
    return Response(b"1" * LARGE, media_type="application/json")


async def test_one_address_has_so_much_of_large_answers_waiting() -> None:
    """S22: each took the gateway as much memory as it was large, and asking for one costs a line."""
    clients, other = [Client() for _ in range(5)], Client("192.0.2.2")
    tasks = await asked(large, *clients, other)
    assert [client.status for client in (*clients, other)] == [200, 200, 200, 200, 503, 200]
    for client in (*clients, other):
        client.read()
    await asyncio.gather(*tasks)
    assert all(client.body == b"1" * LARGE for client in (*clients[:4], other))
    assert b'"code":"busy"' in clients[4].body


async def test_so_it_is_of_a_gateway() -> None:
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9"))
    app.add_api_route("/large", large, response_model=None)
    clients, tasks = [Client() for _ in range(5)], []
    for client in clients:
        tasks.append(asyncio.create_task(app(client.scope, nothing, client.send)))
        await client.asked.wait()
    assert [client.status for client in clients] == [200, 200, 200, 200, 503]
    assert any(name == b"x-request-id" for name, _ in clients[4].messages[0]["headers"])
    for client in clients:
        client.read()
    await asyncio.gather(*tasks)


async def test_all_together_have_so_much_waiting() -> None:
    clients = [Client(f"192.0.2.{number}") for number in range(17)]
    tasks = await asked(large, *clients)
    assert [client.status for client in clients] == [200] * 16 + [503]
    for client in clients:
        client.read()
    await asyncio.gather(*tasks)


async def test_what_is_read_or_left_makes_room() -> None:
    clients = [Client() for _ in range(4)]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await large()(scope, receive, send)

    bounded = UnreadAnswers(app, lambda connection: connection.client.host)
    for client in clients:
        task = asyncio.create_task(bounded(client.scope, nothing, client.send))
        await client.asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    late = Client()
    late.read()
    await bounded(late.scope, nothing, late.send)
    assert (late.status, late.body) == (200, b"1" * LARGE)


@pytest.mark.parametrize("kind", ["application/json", "audio/wav"])
@pytest.mark.parametrize("size", [SMALL_BYTES, SMALL_BYTES + 1, 3 * SMALL_BYTES, 3 * SMALL_BYTES + 5])
async def test_a_large_answer_goes_out_in_pieces_and_whole(size: int, kind: str) -> None:
    """As one message, a slow client was cut off while it read: only an empty buffer shows that it does."""
    client = Client()
    client.read()
    body = bytes(number % 251 for number in range(size))
    (task,) = await asked(lambda: Response(body, media_type=kind), client)
    await task
    assert client.body == body
    pieces = [message for message in client.messages if message["type"] == "http.response.body"]
    assert all(len(piece["body"]) <= SMALL_BYTES for piece in pieces)
    assert [piece.get("more_body", False) for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert len(pieces) == -(-size // SMALL_BYTES)


async def test_audio_and_what_is_streamed_waits_without_a_bound_of_its_own() -> None:
    async def pieces() -> Any:
        yield b"a" * LARGE
        yield b"b"

    for response in (
        lambda: Response(b"a" * LARGE, media_type="audio/wav"),
        lambda: StreamingResponse(pieces(), media_type="application/json"),
        lambda: JSONResponse({"a": 1}),
    ):
        clients = [Client() for _ in range(6)]
        tasks = await asked(response, *clients)
        for client in clients:
            client.read()
        await asyncio.gather(*tasks)
        assert [client.status for client in clients] == [200] * 6
