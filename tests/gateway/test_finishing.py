"""Work that goes to its end, whatever happens to its caller."""

from __future__ import annotations

import asyncio

import pytest

from gateway.finishing import to_its_end


@pytest.mark.parametrize("fails", [False, True])
async def test_a_caller_that_is_cancelled_twice_waits_for_the_end(fails: bool) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()
    ended = False

    async def work() -> None:
        nonlocal ended
        began.set()
        await may_end.wait()
        ended = True
        if fails:
            raise ValueError

    caller = asyncio.create_task(to_its_end(work()))
    await began.wait()
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0.01)
    assert not caller.done()
    may_end.set()
    await asyncio.wait({caller})
    assert caller.cancelled() and ended
