"""Clients that leave in ways which a server does not hear of by itself: their slots and places are free."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.cli import server_config
from gateway.settings import load_settings
from sockets.http.pipelining import LONGEST_PIPELINED_BODY, MOST_PIPELINED
from tests.gateway.stages.processes import GatewayProcess, one_running, started_fleets
from tests.security.raw import PATIENCE_SECONDS, exchange, read_response, status_of
from tests.server import running
from tests.worker.harness import LONG, WorkerProcess

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def fleet() -> Iterator[tuple[GatewayProcess, WorkerProcess]]:
    with started_fleets() as start:
        gateway, (worker,) = start(1, step_ms=10)
        yield gateway, worker


def post(text: str, length: int = 0) -> bytes:
    """A request whose body has at least that length."""
    body = json.dumps({"text": text}).encode().ljust(length)
    head = "POST /tts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "second",
    [
        post(LONG),
        HEALTH * (MOST_PIPELINED + 2),
        b"POST /tts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n" + 200_000 * b" ",
        b"GET /ws/tts HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    ],
    ids=["a clip", "many", "a long body", "a socket"],
)
async def test_who_asked_for_more_and_left_holds_no_slot(
    fleet: tuple[GatewayProcess, WorkerProcess], second: bytes
) -> None:
    gateway, worker = fleet
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(post(LONG))
    await one_running(gateway)
    writer.write(second)
    await writer.drain()
    writer.close()
    await worker.wait_for_free_slots()


async def test_a_few_requests_on_one_connection_are_answered_in_turn_the_rest_is_dropped(
    fleet: tuple[GatewayProcess, WorkerProcess],
) -> None:
    gateway, _ = fleet
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    answers = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        writer.write(post("Hello there.") + HEALTH * (MOST_PIPELINED + 5))
        while answer := await read_response(reader):
            answers.append(answer)
    writer.transport.abort()
    assert [status_of(answer) for answer in answers] == [200] * (1 + MOST_PIPELINED)
    assert answers[0].partition(b"\r\n\r\n")[2].startswith(b"RIFF")
    assert [b"connection: close" in answer.lower() for answer in answers] == [False] * MOST_PIPELINED + [True]


async def test_a_body_that_came_too_early_is_kept_up_to_its_bound(
    fleet: tuple[GatewayProcess, WorkerProcess],
) -> None:
    gateway, _ = fleet
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    async with asyncio.timeout(PATIENCE_SECONDS):
        writer.write(post("Hello there.") + post("Hello there.", LONGEST_PIPELINED_BODY))
        answers = [await read_response(reader) for _ in range(2)]
    writer.transport.abort()
    assert [status_of(answer) for answer in answers] == [200, 200]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such option")
@pytest.mark.parametrize(
    ("seconds", "expected"), [(30, 30), (86_400, 32_767 + 3 * 14_400), (1e9, 4 * 32_767)]
)
async def test_the_kernel_asks_whether_a_silent_client_is_still_there(seconds: float, expected: int) -> None:
    """Nobody waits here for half a minute; what the kernel is told to do is what counts: hours at most."""
    found: dict[str, int] = {}

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        (connection,) = server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        found["asks"] = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT"):
            found[name] = accepted.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
        await Response()(scope, receive, send)

    settings = load_settings(worker_urls="http://127.0.0.1:9", port=0, client_stall_seconds=seconds)
    config = server_config(settings, look)
    config.lifespan = "off"
    async with running(config) as server:
        await exchange(await server.port, HEALTH)
    silent_seconds = found["TCP_KEEPIDLE"] + found["TCP_KEEPCNT"] * found["TCP_KEEPINTVL"]
    assert (found["asks"], silent_seconds, found["TCP_USER_TIMEOUT"]) == (1, expected, 1000 * expected)
