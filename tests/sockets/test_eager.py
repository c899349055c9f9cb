"""A coroutine that is started at once behaves as one in a task does."""

from __future__ import annotations

import asyncio

import pytest

from sockets.eager import start_eagerly


async def test_what_need_not_wait_is_done_before_the_call_returns() -> None:
    done = []

    async def work() -> None:
        done.append(1)

    assert start_eagerly(work()) is None
    assert done == [1]


async def test_what_has_to_wait_goes_on_in_a_task() -> None:
    heard = []
    bell = asyncio.Event()

    async def work() -> None:
        heard.append("begin")
        await bell.wait()
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        heard.append("end")

    task = start_eagerly(work())
    assert heard == ["begin"]
    bell.set()
    await task
    assert heard == ["begin", "end"]


async def test_an_error_reaches_whoever_is_there() -> None:
    async def at_once() -> None:
        raise ValueError("at once")

    async def later() -> None:
        await asyncio.sleep(0)
        raise ValueError("later")

    with pytest.raises(ValueError, match="at once"):
        start_eagerly(at_once())
    with pytest.raises(ValueError, match="later"):
        await start_eagerly(later())


async def test_a_cancellation_is_felt_inside_and_may_be_answered() -> None:
    felt = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            felt.set()
            await asyncio.sleep(0.001)
            raise

    task = start_eagerly(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert felt.is_set()
