"""A WebSocket message in fragments: taken, unless it is made of nothing without end."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

from gateway.edge import memory
from gateway.edge.turns import Turns
from tests.gateway.edge.server import Application, served


async def test_empty_fragments_without_end_are_too_many_messages() -> None:
    async with served() as (application, client, _):
        with pytest.raises(ConnectionClosed):
            await client.send(["a", *[""] * 20_000])
            await client.recv()
        await application.left.wait()
        assert client.close_code == 1008


@pytest.mark.parametrize(
    "frames",
    [[Frame(Opcode.TEXT, b"a", fin=False)] + [Frame(Opcode.CONT, b"a", fin=False)] * 40_000,
     [Frame(Opcode.PONG, b"")] * 40_000, [Frame(Opcode.PING, b"")] * 40_000],
    ids=["fragments", "pongs", "pings"],
)  # fmt: skip
async def test_frames_without_end_are_too_many_and_most_are_not_read(
    frames: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes microseconds in which nobody else is served, and a megabyte of them arrives at once."""
    read: list[Opcode] = []
    receive = ServerProtocol.recv_frame

    def counted(protocol: ServerProtocol, frame: Frame) -> None:
        read.append(frame.opcode)
        receive(protocol, frame)

    monkeypatch.setattr(ServerProtocol, "recv_frame", counted)
    async with served() as (application, client, _):
        client.transport.write(b"".join(frame.serialize(mask=True) for frame in frames))
        with pytest.raises(ConnectionClosed):
            await client.recv()
        await application.left.wait()
        assert client.close_code == 1008
    assert len(read) < 10_000


class Late(Application):
    """Speaks on when it has heard that the connection is closed, as who does not listen just now does."""

    error: Exception | None = None

    async def finish(self) -> None:
        try:
            await self.send(b"audio")
        except Exception as error:
            self.error = error


@pytest.mark.parametrize(
    "flood", [Frame(Opcode.PING, b""), Frame(Opcode.TEXT, b"\xff")], ids=["pings", "no text"]
)
async def test_what_is_said_when_a_flood_has_closed_the_connection_goes_nowhere(flood: Frame) -> None:
    """As behind a client that has left: it is no defect, and the log has nothing of it."""
    async with served(Late) as (application, client, _):
        client.transport.write(flood.serialize(mask=True) * 5000)
        await application.left.wait()
        assert isinstance(application.error, OSError), application.error


async def test_a_message_in_many_fragments_is_one_message() -> None:
    async with served() as (application, client, send_at_once):
        await client.send(["a"] * 1000)
        await client.send([*["b"] * 1000, "", ""])
        assert send_at_once(b"still here")
        assert await client.recv() == b"still here"
        assert not application.left.is_set()


async def test_large_messages_share_a_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """S23."""
    monkeypatch.setattr(memory, "MOST_LARGE_BYTES", 100_000)
    async with served() as (_, first, _):
        port = first.transport.get_extra_info("peername")[1]

        async def another() -> ClientConnection:
            return await connect(f"ws://127.0.0.1:{port}", proxy=None, compression=None, close_timeout=1)

        first.transport.write(part(Opcode.TEXT, 130_000))
        await (await first.ping())
        second = await another()
        second.transport.write(part(Opcode.TEXT, 130_000))
        await closed_with_1013(second)
        first.transport.write(part(Opcode.CONT, 1, fin=True))
        await (await first.ping())
        third = await another()
        third.transport.write(part(Opcode.TEXT, 130_000))
        await (await third.ping())
        third.transport.abort()


async def test_so_do_those_that_wait_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_LARGE_BYTES", 100_000)
    waits, never = asyncio.Event(), asyncio.Event()

    async def take(self: Turns, length: int, whose: str) -> None:
        waits.set()
        await never.wait()

    monkeypatch.setattr(Turns, "take", take)
    async with served() as (_, first, _):
        first.transport.write(part(Opcode.TEXT, 130_000, fin=True))
        await waits.wait()
        port = first.transport.get_extra_info("peername")[1]
        second = await connect(f"ws://127.0.0.1:{port}", proxy=None, compression=None, close_timeout=1)
        second.transport.write(part(Opcode.TEXT, 130_000))
        await closed_with_1013(second)
        never.set()


async def test_fragments_count_for_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_LARGE_BYTES", 100_000)
    async with served() as (_, client, _):
        client.transport.write(part(Opcode.TEXT, 1) + part(Opcode.CONT, 1) * 3000)
        await closed_with_1013(client)


def part(opcode: Opcode, size: int, *, fin: bool = False) -> bytes:
    """A frame of a message, as a client sends it."""
    return Frame(opcode, b" " * size, fin=fin).serialize(mask=True)


async def closed_with_1013(client: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed):
        await client.recv()
    assert client.close_code == 1013
