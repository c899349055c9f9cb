"""An event loop in a thread of its own, so that code without asyncio can use what is written with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines for callers that wait; ends with `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._iterated: set[AsyncGenerator[Any, None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="voxfleet-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`. When the caller is interrupted (Ctrl-C), it is cancelled, and waited for.

        Raises RuntimeError after `close`.
        """
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        call = _Call(work)
        try:
            self._loop.call_soon_threadsafe(call.begin, self._loop)
            call.ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(call.cancel)
            call.ended.wait()
            raise
        return call.task.result()

    def iterate(self, items: AsyncGenerator[Result, None]) -> Iterator[Result]:
        """The items as they come. Leaving the loop early closes `items`."""
        nothing_more = object()
        self._iterated.add(items)

        async def next_item() -> Any:
            return await anext(items, nothing_more)

        try:
            while (item := self.run(next_item())) is not nothing_more:
                yield item
        finally:
            self._close_items(items)

    def _close_items(self, items: AsyncGenerator[Any, None]) -> None:
        """Once. One that is running, since its caller was interrupted twice, ends by itself."""
        if items in self._iterated:
            self._iterated.discard(items)
            if not items.ag_running:
                self.run(items.aclose())

    def close(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Close what was not iterated to its end, run `last`, stop the thread. Nothing may run any more."""
        if self._loop.is_closed():
            return
        for items in [*self._iterated]:
            self._close_items(items)
        if last is not None:
            self.run(last())
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
