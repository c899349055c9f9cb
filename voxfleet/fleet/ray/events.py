"""An event loop in a thread of its own: what an actor does beside answering."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from voxfleet.fleet.log import get_logger

logger = get_logger(__name__)

Result = TypeVar("Result")


class EventThread:
    """An event loop in a daemon thread, which runs until the process ends."""

    def __init__(self) -> None:
        asyncio.set_event_loop_policy(None)  # Ray has uvloop's, which starts no child in a group of its own
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="events", daemon=True).start()

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`, for which any other thread waits."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start `work` and do not wait. An exception in it ends this process, which is started again."""
        asyncio.run_coroutine_threadsafe(work, self._loop).add_done_callback(_end_on_defect)


def _end_on_defect(done: Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("ending after a defect", exc_info=error)
        os._exit(1)
