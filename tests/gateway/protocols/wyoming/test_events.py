"""Events of Wyoming as they are read."""

from __future__ import annotations

import asyncio

from gateway.protocols.wyoming.events import encode, read_event


async def test_whoever_sends_many_events_at_once_lets_others_have_their_turns() -> None:
    """A megabyte of them once held up everybody for a second and a half."""
    reader = asyncio.StreamReader()
    reader.feed_data(encode("ping") * 100)
    turns = 0

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(another())
    for _ in range(100):
        event = await read_event(reader, 1000)
        assert event is not None and event.type == "ping"
    other.cancel()
    assert turns >= 99
