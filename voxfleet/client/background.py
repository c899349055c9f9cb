"""An event loop in a thread of its own, so that code without asyncio can use what is written with it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines for callers that wait, in any thread of the process that made it; ends with `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._iterated: set[AsyncGenerator[Any, None]] = set()
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._loop.run_forever, name="voxfleet-client", daemon=True)
        self._thread.start()

    @property
    def _is_here(self) -> bool:
        """A process that was forked meanwhile has the loop, and no thread that runs it."""
        return os.getpid() == self._process

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`. When the caller is interrupted (Ctrl-C), it is cancelled, and waited for.

        Raises RuntimeError after `close`, when another thread closes this meanwhile, and after a fork.
        """
        if not self._is_here:
            work.close()
            raise RuntimeError("the client was made before this process was forked: make one in each")
        return self._run(work)

    def _run(self, work: Coroutine[Any, Any, Result], *, closing: bool = False) -> Result:
        call = _Call(work)
        try:
            taken = self._begin(call, closing)
            if taken:
                call.ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(call.cancel)
            call.ended.wait()
            raise
        finally:
            self._calls.discard(call)
        if not taken:
            work.close()
            raise RuntimeError("the client is closed")
        if call.task.cancelled():
            raise RuntimeError("the client was closed meanwhile")
        return call.task.result()

    def _begin(self, call: _Call, closing: bool) -> bool:
        """Whether it is one that `close` waits for, or a part of that."""
        with self._lock:
            if self._closed and not closing:
                return False
            self._calls.add(call)
            self._loop.call_soon_threadsafe(call.begin, self._loop)
            return True

    def iterate(self, items: AsyncGenerator[Result, None]) -> Generator[Result, None, None]:
        """The items as they come. Leaving the loop early closes `items`."""
        nothing_more = object()
        self._iterated.add(items)

        async def next_item() -> Any:
            return await anext(items, nothing_more)

        try:
            while (item := self.run(next_item())) is not nothing_more:
                yield item
        finally:
            if self._is_here and not self._closed:
                self._close_items(items)

    def _close_items(self, items: AsyncGenerator[Any, None], *, closing: bool = False) -> None:
        """Once. One that is running, since its caller was interrupted twice, ends by itself."""
        if items in self._iterated:
            self._iterated.discard(items)
            if not items.ag_running:
                self._run(items.aclose(), closing=closing)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """End what still runs, close what was not iterated to its end, run `last`, stop the thread."""
        if not self._is_here:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = [*self._calls]
        for call in running:
            self._loop.call_soon_threadsafe(call.cancel)
        for call in running:
            call.ended.wait()
        for items in [*self._iterated]:
            self._close_items(items, closing=True)
        if last is not None:
            self._run(last(), closing=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Call:
    """One coroutine on the loop; its methods are called there."""

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self.task: asyncio.Task[Any] | None = None
        self.ended = threading.Event()

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self.task = loop.create_task(self._work)
        self.task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()
        else:
            self._work.close()
            self.ended.set()

    def _end(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # who was interrupted does not ask for it
        self.ended.set()
