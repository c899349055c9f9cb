"""A WebSocket message in fragments: taken, unless it is made of nothing without end."""

from __future__ import annotations

import pytest
from websockets.exceptions import ConnectionClosed

from tests.gateway.edge.test_send_at_once import served


async def test_empty_fragments_without_end_are_too_many_messages() -> None:
    async with served() as (application, client, _):
        with pytest.raises(ConnectionClosed):
            await client.send(["a", *[""] * 20_000])
            await client.recv()
        await application.left.wait()
        assert client.close_code == 1008


async def test_a_message_in_many_fragments_is_one_message() -> None:
    async with served() as (application, client, send_at_once):
        await client.send(["a"] * 1000)
        await client.send([*["b"] * 1000, "", ""])
        assert send_at_once(b"still here")
        assert await client.recv() == b"still here"
        assert not application.left.is_set()
