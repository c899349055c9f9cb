"""The operators' log: who came and went, what was changed and by whom. Never what users say, nor what
they call their voices: those are named by id, since a name is often a person's and would outlive its voice.

`say` and `quote` append and return. A task writes what is new to the database, a batch at a time, and sheds
what is old: the last 2,000 lines of at most 30 days are kept. Live listeners hear of a line once it has its
number. When the database fails, lines are kept in memory, and shown from there.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import delete, select
from sqlalchemy.exc import SQLAlchemyError

from gateway.database import Database, DatabaseError, Event
from gateway.database.tables import now
from gateway.operations.sayings import SAYINGS, name_of, short

logger = structlog.get_logger(__name__)

KEPT_LINES = 2000
KEPT_DAYS = 30
RING_LINES = 256
_WAITING_LINES = 1000
_BATCH_SECONDS = 0.1
_RETRY_SECONDS = 5.0
_SHED_SECONDS = 600.0
_SHED_EVERY_LINES = 200
_LONGEST_MESSAGE = 500
_COLUMNS = ("at", "kind", "subject", "message", "saying", "facts")


@dataclass(frozen=True)
class Line:
    """One event. `id` is its row's, None when it could not be written."""

    kind: str
    subject: str
    message: str
    at: datetime
    saying: str | None = None
    """What `message` says, where it is one of `SAYINGS`."""
    facts: dict[str, Any] = field(default_factory=dict)
    id: int | None = None

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        at = self.at.isoformat(timespec="milliseconds")
        line = {"id": self.id, "at": at, "kind": self.kind, "subject": self.subject, "message": self.message}
        return line if self.saying is None else {**line, "saying": self.saying, "facts": self.facts}


class EventLog:
    """Lines of this gateway as they happen, and those of all gateways from the database they share."""

    def __init__(self, database: Database) -> None:
        self.on_line: list[Callable[[Line], None]] = []
        """Called with every new line."""
        self._database = database
        self._ring: deque[Line] = deque(maxlen=RING_LINES)
        self._waiting: deque[Line] = deque(maxlen=_WAITING_LINES)
        self._wake = asyncio.Event()
        self._written = 0
        self._shed_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        """Held during a transaction: one that is cancelled may keep SQLite locked, or be written twice."""

    def say(self, kind: str, subject: str, saying: str, **facts: Any) -> None:
        """Append one of `SAYINGS`; never waits."""
        kept = short(facts)
        self._append(kind, subject, SAYINGS[saying].format(**kept), saying, kept)

    def quote(self, kind: str, subject: str, message: str) -> None:
        """Append a line in somebody else's words, of which some are known; never waits."""
        self._append(kind, subject, message, name_of(message), {})

    def _append(
        self, kind: str, subject: str, message: str, saying: str | None, facts: dict[str, Any]
    ) -> None:
        self._waiting.append(Line(kind, subject[:160], message[:_LONGEST_MESSAGE], now(), saying, facts))
        self._wake.set()

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._write_on())

    async def close(self) -> None:
        """Write what is left, and end."""
        if self._task is not None:
            async with self._writing:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._write()

    def recent(self) -> list[Line]:
        """The newest lines of this gateway, oldest first."""
        return list(self._ring)

    async def read(self, limit: int, before: int | None, kind: str | None) -> list[Line]:
        """Lines of all gateways, newest first, with numbers below `before`."""
        await self._write()
        chosen = select(Event).order_by(Event.id.desc()).limit(limit)
        if before is not None:
            chosen = chosen.where(Event.id < before)
        if kind is not None:
            chosen = chosen.where(Event.kind == kind)
        try:
            async with self._database.transaction() as rows:
                return [_line_of(row) for row in await rows.scalars(chosen)]
        except (SQLAlchemyError, DatabaseError, OSError) as error:
            logger.warning("the event log cannot be read", error=type(error).__name__)
            lines = [line for line in reversed(self._unwritten_too()) if kind in (None, line.kind)]
            return lines[:limit] if before is None else []

    def _unwritten_too(self) -> list[Line]:
        return [*self._ring, *self._waiting]

    async def _write_on(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(_BATCH_SECONDS)
            if not await self._write():
                await asyncio.sleep(_RETRY_SECONDS)
                self._wake.set()

    async def _write(self) -> bool:
        """Give the lines that wait to the database; False when it did not take them."""
        async with self._writing:
            return await self._write_waiting()

    async def _write_waiting(self) -> bool:
        batch = list(self._waiting)
        if not batch:
            return True
        self._waiting.clear()
        try:
            lines = await self._insert(batch)
        except (SQLAlchemyError, DatabaseError, OSError) as error:
            logger.warning("the event log cannot be written", error=type(error).__name__)
            self._waiting.extendleft(reversed(batch))
            return False
        except asyncio.CancelledError:
            self._waiting.extendleft(reversed(batch))
            raise
        for line in lines:
            self._ring.append(line)
            for listener in self.on_line:
                listener(line)
        await self._shed(len(batch))
        return True

    async def _insert(self, batch: Sequence[Line]) -> list[Line]:
        events = [Event(**{name: getattr(line, name) for name in _COLUMNS}) for line in batch]
        async with self._database.transaction() as rows:
            rows.add_all(events)
            await rows.flush()
            return [_line_of(event) for event in events]

    async def _shed(self, new_lines: int) -> None:
        """Delete what is too old or too much, now and then."""
        self._written += new_lines
        clock = time.monotonic()
        if self._written < _SHED_EVERY_LINES and clock - self._shed_at < _SHED_SECONDS:
            return
        self._written, self._shed_at = 0, clock
        try:
            async with self._database.transaction() as rows:
                first_kept = self._database.present.now() - timedelta(days=KEPT_DAYS)
                await rows.execute(delete(Event).where(Event.at < first_kept))
                oldest = select(Event.id).order_by(Event.id.desc()).offset(KEPT_LINES).limit(1)
                if (last_shed := await rows.scalar(oldest)) is not None:
                    await rows.execute(delete(Event).where(Event.id <= last_shed))
        except (SQLAlchemyError, DatabaseError, OSError) as error:
            logger.warning("old lines of the event log stay", error=type(error).__name__)


def _line_of(event: Event) -> Line:
    return Line(event.kind, event.subject, event.message, event.at, event.saying, event.facts or {}, event.id)
