"""What a worker takes of strangers before it knows who they are: heads with an end, in time (S6, S21)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send

from sockets.http.heads import LONGEST_URL
from tests.security.raw import read_response
from tests.server import running
from worker import connections, server
from worker.app import create_app
from worker.engines.synthetic import SyntheticEngine
from worker.server import server_config
from worker.settings import WorkerSettings

HEAD = b"GET /health HTTP/1.1\r\nHost: here\r\n"
SOCKET = (
    b"GET /generate HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
CLOSE_FRAME = b"\x88\x80" + bytes(4)
CHUNKED = b"POST /encode HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
LINES = b"a: b\r\n" * 1000
Connected = Callable[[], AbstractAsyncContextManager[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@pytest.fixture
async def connected(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connected]:
    """Connections to a worker in this process that waits a second for a head."""
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 1.0)
    settings = WorkerSettings(port=0)
    app = create_app(settings, lambda settings, report: SyntheticEngine())
    async with running(server_config(app, settings)) as server:

        @asynccontextmanager
        async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
            reader, writer = await asyncio.open_connection("127.0.0.1", await server.port)
            try:
                yield reader, writer
            finally:
                writer.transport.abort()

        yield connected


async def is_cut(writer: asyncio.StreamWriter, piece: bytes) -> bool:
    """Whether a connection ends while 20 MB of such pieces are sent."""
    try:
        for _ in range(20_000_000 // len(piece)):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        return True
    return False


async def is_ended(reader: asyncio.StreamReader) -> bool:
    """Whether nothing but the end of the connection comes."""
    with suppress(ConnectionError):
        return await reader.read() == b""
    return True


@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (HEAD, LINES),
        (HEAD + b"X: ", b"a" * 10_000),
        (HEAD, b"a" * 10_000),
        (b"GET /", b"a" * 10_000),
        (CHUNKED + b"1\r\na\r\n0\r\n", LINES),
        (SOCKET, LINES),
    ],
    ids=["lines", "value", "name", "address", "trailers", "socket"],
)
async def test_a_head_without_end_is_cut(connected: Connected, before: bytes, piece: bytes) -> None:
    async with connected() as (_, writer):
        writer.write(before)
        assert await is_cut(writer, piece)


async def test_too_long_an_address_is_refused_in_the_workers_own_shape(connected: Connected) -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET /" + b"a" * LONGEST_URL + b" HTTP/1.1\r\nHost: here\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 414")
    assert json.loads(body)["error"]["code"] == "uri_too_long"


async def test_what_is_no_http_is_refused_in_the_workers_own_shape(connected: Connected) -> None:
    async with connected() as (reader, writer):
        writer.write(b"nonsense\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["error"]["code"] == "bad_request"


async def test_a_body_in_a_coding_that_is_not_taken_off_is_refused(connected: Connected) -> None:
    async with connected() as (reader, writer):
        writer.write(CHUNKED.replace(b"chunked", b"gzip, chunked") + b"0\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 501")
    assert json.loads(body)["error"]["code"] == "transfer_encoding_not_supported"


@pytest.mark.parametrize("said", [b"\r\n", b"G", HEAD, SOCKET], ids=["break", "G", "HTTP", "socket"])
async def test_a_head_that_does_not_come_to_its_end_is_cut(connected: Connected, said: bytes) -> None:
    """Also behind an answer: a line break there is no message yet."""
    async with connected() as (reader, writer), connected() as (other_reader, other_writer):
        writer.write(said)
        other_writer.write(HEAD + b"\r\n")
        await read_response(other_reader)
        other_writer.write(said)
        async with asyncio.timeout(10):
            assert await is_ended(reader) and await is_ended(other_reader)


async def test_a_body_that_was_answered_unread_does_not_hold_the_connection(connected: Connected) -> None:
    async with connected() as (reader, writer):
        writer.write(b"POST /nowhere HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n")
        async with asyncio.timeout(10):
            assert (await reader.read()).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    "more",
    [b"a: b\r\n" * 200, b"a: " + b"b" * 9000 + b"\r\n", b"Content-Length: 5\r\n"],
    ids=["lines", "line", "body"],
)
async def test_a_socket_s_head_that_nobody_reads_is_refused(connected: Connected, more: bytes) -> None:
    async with connected() as (reader, writer):
        writer.write(SOCKET + more + b"\r\n")
        async with asyncio.timeout(10):
            answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 400") and answer.endswith(b"no body.\n")


async def test_a_socket_that_is_refused_is_no_error(
    connected: Connected, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected() as (reader, writer):
        writer.write(SOCKET + b"Origin: https://evil.example\r\n\r\n")
        assert (
            json.loads((await read_response(reader)).partition(b"\r\n\r\n")[2])["error"]["code"]
            == "forbidden"
        )
    assert not errors_in(caplog)


async def test_a_gateway_that_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its streams keep their slots until then. It holds its connection, and answers nothing."""
    assert server._PING_SECONDS + server._PONG_SECONDS <= 15, "as long as the listeners of others wait"
    monkeypatch.setattr(server, "_PING_SECONDS", 0.05)
    monkeypatch.setattr(server, "_PONG_SECONDS", 0.05)
    ended = asyncio.Event()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        assert (await receive())["type"] == "websocket.disconnect"
        ended.set()

    config = server_config(application, WorkerSettings(port=0))
    config.lifespan = "off"
    async with running(config) as served, asyncio.timeout(30):
        _, writer = await asyncio.open_connection("127.0.0.1", await served.port)
        writer.write(SOCKET + b"\r\n")
        await ended.wait()
        writer.transport.abort()


async def test_a_gateway_that_leaves_before_its_socket_is_accepted_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
            asked.set()
            assert (await receive())["type"] == "websocket.disconnect"
            await send({"type": "websocket.accept"})
        finally:
            ended.set()

    config = server_config(application, WorkerSettings(port=0))
    config.lifespan = "off"
    async with running(config) as server, asyncio.timeout(10):
        _, writer = await asyncio.open_connection("127.0.0.1", await server.port)
        writer.write(SOCKET + b"\r\n")
        await asked.wait()
        writer.write(CLOSE_FRAME)
        await ended.wait()
        writer.transport.abort()
    assert not errors_in(caplog)


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
