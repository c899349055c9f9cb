"""The way past ASGI: messages that need not wait leave at once, and all others go the long way in order."""

from __future__ import annotations

import asyncio

from gateway.edge.outbox import Outbox
from sockets.at_once import SEND_AT_ONCE
from tests.gateway.edge.server import served

PIECE = bytes(50_000)


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
