"""Messages of workers are taken out of the bytes however these come, and nothing else passes for one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from gateway.workers.connection import BoundedConnection, WorkerConnection
from worker.protocol import MAX_FRAME_BYTES

SIZES = (0, 1, 125, 126, 8904, 65_535, 65_536, MAX_FRAME_BYTES)
PING = Frame(Opcode.PING, b"there?").serialize(mask=False)


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.messages: list[str | bytes] = []
        self.losses: list[ConnectionClosed] = []

    def received(self, message: str | bytes) -> None:
        self.messages.append(message)

    def lost(self, error: ConnectionClosed) -> None:
        self.losses.append(error)


@asynccontextmanager
async def connected(
    kind: type[BoundedConnection] = WorkerConnection,
) -> AsyncIterator[tuple[WorkerConnection, Listener, ServerConnection]]:
    """A connection, who listens to it, and its far end."""
    arrived: asyncio.Future[ServerConnection] = asyncio.get_running_loop().create_future()

    async def worker(socket: ServerConnection) -> None:
        arrived.set_result(socket)
        await socket.wait_closed()

    async with serve(worker, "127.0.0.1", 0, compression=None) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with connect(
            url, compression=None, proxy=None, max_size=MAX_FRAME_BYTES, create_connection=kind
        ) as connection:
            listener = Listener()
            connection.listener = listener
            yield connection, listener, await arrived


def as_frame(message: str | bytes, fin: bool = True) -> bytes:
    if isinstance(message, str):
        return Frame(Opcode.TEXT, message.encode(), fin=fin).serialize(mask=False)
    return Frame(Opcode.BINARY, message, fin=fin).serialize(mask=False)


@pytest.mark.parametrize("longest_piece", [1, 7, 3000, 20_000, 1 << 22])
async def test_messages_come_whole_however_the_bytes_are_cut(longest_piece: int) -> None:
    draw = random.Random(longest_piece)
    messages: list[str | bytes] = [draw.randbytes(size) for size in SIZES if size < 10_000 * longest_piece]
    messages += ["", "gehört", "ö" * 40_000 if longest_piece > 7 else "ö"]
    draw.shuffle(messages)
    stream = b"".join(as_frame(message) + PING for message in messages)
    async with connected() as (connection, listener, _):
        while stream:
            size = draw.randint(1, longest_piece)
            connection.data_received(stream[:size])
            stream = stream[size:]
    assert listener.messages == messages


async def test_pings_between_messages_are_answered() -> None:
    async with connected() as (_, listener, far_end):
        await far_end.send(b"before")
        async with asyncio.timeout(60):
            await (await far_end.ping())
        await far_end.send(b"after")
        await far_end.close()
    assert listener.messages == [b"before", b"after"]


async def test_who_listens_hears_how_the_connection_ended() -> None:
    async with connected() as (_, listener, far_end):
        await far_end.send("last words")
        await far_end.close(1012)
    assert listener.messages == ["last words"]
    assert [error.rcvd.code for error in listener.losses] == [1012]


def too_long() -> bytes:
    """The head alone: nobody waits for the rest."""
    return as_frame(bytes(MAX_FRAME_BYTES + 1))[:10]


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda: Frame(Opcode.BINARY, b"masked").serialize(mask=True),
        lambda: Frame(Opcode.BINARY, bytes(1000)).serialize(mask=True),
        too_long,
        lambda: bytes((0xC2, 0)),
        lambda: as_frame(b"the beginning of ", fin=False),
        lambda: Frame(Opcode.CONT, b"a message").serialize(mask=False),
        lambda: bytes((0x83, 0)),
    ],
    ids=["masked", "long and masked", "too long", "extension", "fragment", "continuation", "reserved opcode"],
)
async def test_what_a_worker_may_not_send_ends_the_connection(forbidden: Callable[[], bytes]) -> None:
    async with connected() as (connection, listener, _):
        connection.data_received(as_frame(b"good") + forbidden() + as_frame(b"ignored"))
        async with asyncio.timeout(60):
            await connection.wait_closed()
    assert listener.messages[0] == b"good"
    assert len(listener.losses) == 1


async def test_a_worker_that_speaks_unasked_is_cut_off() -> None:
    async with connected() as (connection, listener, far_end):
        connection.listener = None
        await far_end.send(b"nobody asked")
        async with asyncio.timeout(60):
            await connection.wait_closed()
    assert listener.messages == []


async def test_of_very_many_messages_few_are_taken_in_one_turn_and_all_in_their_order() -> None:
    messages = [str(number).encode() for number in range(5000)]
    async with connected() as (connection, listener, far_end):
        connection.data_received(b"".join(map(as_frame, messages)))
        assert 0 < len(listener.messages) <= 100
        assert not connection.transport.is_reading(), "what comes meanwhile waits"
        await far_end.send("the last")
        await far_end.close()
        async with asyncio.timeout(60):
            await connection.wait_closed()
    assert listener.messages == [*messages, "the last"]


@pytest.mark.parametrize("kind", [WorkerConnection, BoundedConnection])
@pytest.mark.parametrize("opcode", [Opcode.PING, Opcode.PONG])
async def test_pings_without_end_cut_the_connection(
    kind: type[BoundedConnection], opcode: Opcode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand come in one read, and an event loop may read dozens of times in one turn."""
    async with connected(kind) as (connection, _, _):
        read, receive_data = [], connection.protocol.receive_data
        monkeypatch.setattr(
            connection.protocol, "receive_data", lambda data: (read.append(data), receive_data(data))
        )
        connection.data_received(Frame(opcode, b"").serialize(mask=False) * 100_000)
        for _ in range(100):
            await asyncio.sleep(0)
        assert connection.transport.is_closing()
    assert sum(map(len, read)) < 10_000


async def test_who_talks_on_after_an_end_is_cut() -> None:
    end = Frame(Opcode.CLOSE, b"").serialize(mask=False)
    async with connected() as (connection, _, _):
        connection.data_received(end)
        assert not connection.transport.is_closing()
        connection.data_received(as_frame(bytes(100)))
        assert connection.transport.is_closing()
