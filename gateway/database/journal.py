"""SQLite's write-ahead log, where the pages as they were before stand until it is truncated.

That has to wait for whoever reads, such as a backup, and whoever writes has to wait for it meanwhile. So it
waits shortly, and tries again until it succeeds.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import structlog

logger = structlog.get_logger(__name__)

_PATIENCE_SECONDS = 0.5
"""Longer than any gateway reads."""
_AGAIN_SECONDS = 5.0


class Journal:
    """That of one SQLite file."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._one_at_a_time = asyncio.Lock()
        self._trying: asyncio.Task[None] | None = None
        self._is_left = False
        """Deleted text, in it."""

    async def empty(self) -> None:
        """Now, or as soon as nobody reads any more."""
        async with self._one_at_a_time:
            if self._trying is not None and not self._trying.done():
                self._is_left = True  # also where it is just being truncated
                return
            if problem := await asyncio.to_thread(self._truncate):
                logger.warning("deleted text is still in the journal until nobody reads it", reason=problem)
                self._is_left = True
                self._trying = asyncio.create_task(self._empty_later())

    async def _empty_later(self) -> None:
        while self._is_left:
            await asyncio.sleep(_AGAIN_SECONDS)
            self._is_left = False
            if await asyncio.to_thread(self._truncate):
                self._is_left = True
        logger.info("deleted text has left the journal")

    def _truncate(self) -> str:
        """What keeps it from that; nothing where it succeeded. Blocks."""
        address = f"{self._database.absolute().as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(address, timeout=_PATIENCE_SECONDS, uri=True)) as connection:
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            return type(error).__name__
        return "somebody reads it" if busy else ""

    async def close(self) -> None:
        """Try no more: whoever opens the file last empties it at the end."""
        if self._trying is not None:
            self._trying.cancel()
            await asyncio.wait([self._trying])
