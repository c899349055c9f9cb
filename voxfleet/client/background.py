"""An event loop in a thread of its own, so that code without asyncio can use what is written with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")


class BackgroundLoop:
    """Runs coroutines for callers that wait; ends with `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="voxfleet-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`, which is cancelled when the caller is interrupted (Ctrl-C).

        Raises RuntimeError after `close`.
        """
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncIterator[Result]) -> Iterator[Result]:
        """The items as they come. Leaving the loop early closes `items`."""
        nothing_more = object()

        async def next_item() -> Any:
            return await anext(items, nothing_more)

        try:
            while (item := self.run(next_item())) is not nothing_more:
                yield item
        finally:
            self.run(items.aclose())

    def close(self) -> None:
        """Stop the thread. Nothing may run any more."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
