"""Coroutines for callers that wait: what happens when a caller is interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from voxfleet.client.background import BackgroundLoop


@pytest.fixture
def background() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def usual_interrupt() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    """Ctrl-C, which wakes the thread that waits."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_an_interrupted_loop_has_closed_what_it_read(background: BackgroundLoop) -> None:
    seen: list[str] = []

    async def items() -> AsyncIterator[str]:
        try:
            yield "item"
            interrupt()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # as closing a connection takes a while
            seen.append("closed")

    with pytest.raises(KeyboardInterrupt):
        seen.extend(background.iterate(items()))
    assert seen == ["item", "closed"]


def test_an_interrupted_call_has_ended(background: BackgroundLoop) -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            interrupt()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        background.run(work())
    assert ended.is_set()


def test_who_interrupts_twice_does_not_wait(background: BackgroundLoop) -> None:
    freed = threading.Event()
    closed = threading.Event()

    async def items() -> AsyncIterator[str]:
        try:
            yield "item"
            interrupt()
            await asyncio.Event().wait()
        finally:
            interrupt()
            await asyncio.to_thread(freed.wait)
            closed.set()

    with pytest.raises(KeyboardInterrupt):
        list(background.iterate(items()))
    freed.set()
    assert closed.wait(60)


def test_the_end_closes_what_was_not_read_to_its_end(background: BackgroundLoop) -> None:
    seen: list[str] = []

    async def items() -> AsyncIterator[str]:
        try:
            yield "item"
            yield "another"
        finally:
            await asyncio.sleep(0.05)
            seen.append("closed")

    async def last() -> None:
        seen.append("last")

    reading = background.iterate(items())
    assert next(reading) == "item"
    background.close(last)
    background.close(last)
    assert seen == ["closed", "last"]
    with pytest.raises(RuntimeError, match="closed"):
        next(reading)


def test_results_and_failures_are_those_of_the_work(background: BackgroundLoop) -> None:
    async def work(failure: Exception | None) -> int:
        if failure is not None:
            raise failure
        return 7

    assert background.run(work(None)) == 7
    with pytest.raises(ValueError, match="wrong"):
        background.run(work(ValueError("wrong")))
    background.close()
    with pytest.raises(RuntimeError, match="closed"):
        background.run(work(None))
