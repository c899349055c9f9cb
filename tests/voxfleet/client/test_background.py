"""Coroutines for callers that wait: what happens when a caller is interrupted."""

from __future__ import annotations

import asyncio
import os
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


def test_the_end_ends_what_other_threads_wait_for(background: BackgroundLoop) -> None:
    """Also between two items, or two tries; they would wait for ever."""
    begun = threading.Barrier(3)
    outcomes: list[str] = []

    async def forever() -> AsyncIterator[str]:
        yield "item"
        await asyncio.to_thread(begun.wait)
        await asyncio.Event().wait()

    def read() -> None:
        try:
            outcomes.extend(background.iterate(forever()))
        except RuntimeError as error:
            outcomes.append(str(error))

    readers = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    begun.wait()
    background.close()
    for reader in readers:
        reader.join(60)
    assert sorted(outcomes) == ["item", "item"] + ["the client was closed meanwhile"] * 2


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_was_forked_meanwhile_is_told(background: BackgroundLoop) -> None:
    """There nothing runs the loop: a call would wait for ever, and so would the end of the program."""

    async def work() -> str:
        return "done"

    async def items() -> AsyncIterator[str]:
        yield "item"
        yield "another"

    reading = background.iterate(items())
    next(reading)
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(60)
        try:
            background.run(work())
        except RuntimeError as error:
            os.write(tell, str(error).encode())
        reading.close()
        background.close()
        os._exit(0)
    os.close(tell)
    with open(told, encoding="utf-8") as words:
        assert "was forked: make one in each" in words.read()
    assert os.waitpid(child, 0)[1] == 0
    assert background.run(work()) == "done" and next(reading) == "another"


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
