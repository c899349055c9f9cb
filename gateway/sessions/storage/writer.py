"""The one thread of a gateway that writes recordings.

The event loop puts jobs and never waits: `put` is an append. What waits is bounded in bytes, so that a disk
that stands still costs recordings and no memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import structlog

logger = structlog.get_logger(__name__)

_CLOSE_SECONDS = 10.0
_JOB_BYTES = 512
"""The bytes for which a job without audio counts."""


class Writer:
    """Runs jobs in order, on a thread of its own. `put` is called by one thread only."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes`: of audio and lines that may wait."""
        self._max_bytes = max_bytes
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], int] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._bytes_put = 0
        self._bytes_done = 0

    def start(self) -> None:
        """Begin to work; jobs may have been put before."""
        self._thread = threading.Thread(target=self._work, name="session-writer", daemon=True)
        self._thread.start()

    @property
    def pending_bytes(self) -> int:
        """Bytes that wait to be written."""
        return self._bytes_put - self._bytes_done

    def put(self, job: Callable[[], None], size_bytes: int = 0, *, always: bool = False) -> bool:
        """Append. False, and nothing is done, when too much waits; `always` is for the end of a recording."""
        cost = size_bytes + _JOB_BYTES
        if not always and self.pending_bytes + cost > self._max_bytes:
            return False
        self._bytes_put += cost
        self._jobs.put((job, cost))
        return True

    def close(self) -> None:
        """Finish what was put, for at most ten seconds. Blocks: not for an event loop."""
        if self._thread is None:
            return
        self._jobs.put(None)
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            logger.error("recordings were not written to their end", pending_bytes=self.pending_bytes)
        self._thread = None

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, cost = item
            try:
                job()
            except Exception:
                logger.exception("a job of the session writer failed")
            self._bytes_done += cost
