"""Owners take turns at what is done one after the other."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest

from gateway.callers import turns
from gateway.callers.turns import OwnersTurns
from gateway.errors import ApiError


async def test_owners_take_turns_however_much_one_of_them_asks_for() -> None:
    line, order = OwnersTurns("busy"), []

    async def work(owner: str, number: int) -> None:
        async with line.take(owner):
            order.append((owner, number))
            await asyncio.sleep(0)

    asked = [("ann", number) for number in range(4)] + [("bob", number) for number in range(2)]
    await asyncio.gather(*(work(*each) for each in asked))
    assert order == [("ann", 0), ("bob", 0), ("ann", 1), ("bob", 1), ("ann", 2), ("ann", 3)]


async def test_who_waits_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all would wait for one whom a database that is stuck does not answer."""
    held = OwnersTurns("busy")
    async with held.take("ann"):
        monkeypatch.setattr(turns, "WAIT_SECONDS", 0)
        for owner in ("ann", "bob"):
            with pytest.raises(ApiError) as refused:
                async with held.take(owner):
                    pytest.fail("it has two turns at once")
            assert (refused.value.status_code, refused.value.code) == (503, "busy")
    for owner in ("ann", "bob"):
        async with held.take(owner):
            pass


async def test_whose_line_is_long_is_told_at_once_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty books of 10,000 blocks those that could not be written in time were refused after 30 s."""
    now = [0.0]
    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: now[0]))
    line = OwnersTurns("busy")
    async with line.take("ann", 10_000):
        now[0] += 18.0
    async with AsyncExitStack() as waiting:
        await waiting.enter_async_context(line.take("ann", 20_000))
        with pytest.raises(ApiError) as refused:
            async with line.take("ann", 1):
                pytest.fail("it has two turns at once")
        assert (refused.value.code, refused.value.headers["Retry-After"]) == ("busy", "19")
        others = [asyncio.create_task(_turn(line, "bob", 10_000)), asyncio.create_task(_turn(line, "ann", 0))]
        await asyncio.sleep(0)
        assert not any(other.done() for other in others)
    await asyncio.gather(*others)
    await _turn(line, "ann", 1)


async def _turn(line: OwnersTurns, owner: str, blocks: int) -> None:
    async with line.take(owner, blocks):
        pass
