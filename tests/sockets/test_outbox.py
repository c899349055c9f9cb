"""What waits for a peer, and who is told that it cannot be sent."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from sockets.outbox import Outbox, UnreadError


class Peer:
    """Reads when told to."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.read: list[str | bytes] = []
        self.failures: list[Exception] = []

    async def send(self, message: str | bytes) -> None:
        await self.reads.wait()
        self.read.append(message)


async def test_it_says_what_waits_and_refuses_more_than_its_limit() -> None:
    peer = Peer()
    outbox = Outbox(peer.send, 10, peer.failures.append)
    assert not outbox.waits and outbox.unsent_bytes == 0
    outbox.put(b"123456")
    assert outbox.waits and outbox.unsent_bytes == 6
    with pytest.raises(UnreadError, match="10 bytes"):
        outbox.put(b"12345")
    peer.reads.set()
    await outbox.flush()
    assert peer.read == [b"123456"] and not outbox.waits
    outbox.drop()


async def test_nobody_is_told_of_what_was_dropped_nor_held_by_it() -> None:
    class Owner:
        def __init__(self, peer: Peer) -> None:
            self.outbox = Outbox(peer.send, 10, self.lose)

        def lose(self, error: Exception) -> None:
            raise AssertionError(error)

    peer = Peer()
    owner = Owner(peer)
    owner.outbox.put("lost")
    owner.outbox.drop()
    await owner.outbox.flush()
    assert peer.read == []
    gone = weakref.ref(owner)
    gc.disable()
    try:
        del owner
        assert gone() is None
    finally:
        gc.enable()


async def test_it_says_when_its_peer_is_behind_and_has_caught_up() -> None:
    peer = Peer()
    outbox = Outbox(peer.send, 100, peer.failures.append)
    await outbox.caught_up()
    for _ in range(3):
        outbox.put(bytes(20))
    assert outbox.is_behind
    waiting = asyncio.create_task(outbox.caught_up())
    await asyncio.sleep(0)
    assert not waiting.done()
    peer.reads.set()
    await waiting
    assert outbox.unsent_bytes <= 25 and not outbox.is_behind
    await outbox.flush()
    peer.reads.clear()
    for _ in range(3):
        outbox.put(bytes(20))
    waiting = asyncio.create_task(outbox.caught_up())
    await asyncio.sleep(0)
    outbox.drop()
    await waiting
