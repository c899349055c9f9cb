"""Calls after silence, and none while there is something to hear."""

from __future__ import annotations

import asyncio
import gc
import weakref

from sockets.silence import Silence


async def test_it_calls_after_each_silence_until_it_is_stopped() -> None:
    silence, calls = Silence(0.01), asyncio.Semaphore(0)
    silence.start(calls.release)
    async with asyncio.timeout(10):
        for _ in range(3):
            await calls.acquire()
    silence.stop()
    await asyncio.sleep(0.05)
    assert calls.locked()


async def test_what_is_heard_puts_it_off() -> None:
    silence, calls = Silence(5.0), []
    silence.start(lambda: calls.append(1))
    silence._broken_at -= 4.0
    silence.broken()
    silence._look(silence.passed)
    assert not calls
    silence._broken_at -= 6.0
    silence._look(silence.passed)
    assert calls
    silence.stop()


async def test_a_callback_may_stop_it_and_is_not_held_afterwards() -> None:
    class Owner:
        def __init__(self) -> None:
            self.silence, self.called = Silence(0.0), asyncio.Event()
            self.silence.start(self.end)

        def end(self) -> None:
            self.silence.stop()
            self.called.set()

    owner = Owner()
    async with asyncio.timeout(10):
        await owner.called.wait()
    await asyncio.sleep(0)
    gone = weakref.ref(owner)
    gc.disable()
    try:
        del owner
        assert gone() is None
    finally:
        gc.enable()
