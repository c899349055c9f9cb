"""S21: clients that send a little at a time are read some in each turn of the event loop."""

from __future__ import annotations

import asyncio
import socket

import pytest

from gateway.cli import server_config
from gateway.edge.connections import reading
from gateway.edge.connections.reading import Readers, ReadInTurns
from gateway.settings import load_settings
from tests.gateway.edge.server import Application, connected, say_length, served
from tests.server import running

CLIENTS = 60
BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 50\r\n\r\n"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize(("app", "head"), [(say_length, BODY), (Application(), UPGRADE)])
async def test_many_clients_that_send_single_bytes_are_read_a_few_at_a_time(app: object, head: bytes) -> None:
    """All of two thousand were read in each turn, and others waited for seconds."""
    config = server_config(load_settings(worker_urls="http://127.0.0.1:9", port=0), app)
    config.lifespan = "off"
    async with running(config) as server:
        clients = [socket.create_connection(("127.0.0.1", await server.port)) for _ in range(CLIENTS)]
        for client in clients:
            client.send(head)
            assert b" 10" in await asyncio.to_thread(client.recv, 4096)
        protocols = list(server.server_state.connections)
        assert len(protocols) == CLIENTS

        def count_reading() -> int:
            return sum(protocol.transport.is_reading() for protocol in protocols)

        for protocol in protocols:
            protocol.data_received(b"\x81")  # a byte of a body, or the first of a message
        read = [count_reading()]
        while read[-1] < CLIENTS:
            await asyncio.sleep(0)
            read.append(count_reading())
            assert read[-1] - read[-2] <= reading._AT_ONCE
        assert read[0] == 0
        for client in clients:
            client.close()


class Reading(ReadInTurns):
    """Has one byte to be read whenever it may be read."""

    def __init__(self, readers: Readers, brings: int, log: list[ReadInTurns]) -> None:
        self.readers, self.transport = readers, self
        self._brings, self._log = brings, log

    def may_read(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return False

    def get_protocol(self) -> ReadInTurns:
        return self

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        self._log.append(self)
        asyncio.get_running_loop().call_soon(self.has_read, self._brings)


async def test_who_sends_much_does_not_wait_for_who_drips() -> None:
    readers, log = Readers(), []
    dripping = [Reading(readers, 1, log) for _ in range(500)]
    for one in dripping:
        one.has_read(1)
    for _ in range(500 * (reading._READS + 1) // reading._AT_ONCE + 10):
        await asyncio.sleep(0)
    assert len(log) > 500 * reading._READS
    upload = Reading(readers, 1 << 16, log)
    log.clear()
    upload.has_read(1 << 16)
    for _ in range(100):
        await asyncio.sleep(0)
    assert log.count(upload) > 20
    assert len(set(log)) > 100, "the others go on, too"


async def test_a_body_in_single_bytes_is_read_whole() -> None:
    async with connected() as (reader, writer):
        writer.write(BODY)
        for _ in range(50):
            writer.write(b"a")
            await asyncio.sleep(0)
        assert b"100" in await reader.readuntil(b"\r\n\r\n")
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"50"


async def test_a_message_in_single_bytes_is_read_whole() -> None:
    heard: list[str] = []

    class Hearing(Application):
        async def __call__(self, scope: object, receive: object, send: object) -> None:
            async def noted() -> object:
                event = await receive()
                heard.append(event.get("text"))
                return event

            await super().__call__(scope, noted, send)

    async with served(Hearing) as (application, client, _):
        frame = b"\x81\x8a\0\0\0\0" + b"0123456789"
        for place in range(len(frame)):
            client.transport.write(frame[place : place + 1])
            await asyncio.sleep(0)
        await client.close()
        await application.left.wait()
    assert "0123456789" in heard
