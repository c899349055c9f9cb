"""Rows that wait are worked on: so many at a time, owners in turns, each by who holds the lock of its folder.

Gateways that share a database and `data_dir` share what is to be worked on. The kernel takes a lock back when
its process dies, so whoever looks next goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

import structlog
from prometheus_client import Gauge

from gateway.database.transactions import FAILURES
from gateway.errors import ApiError
from gateway.tending.failures import OfAnotherBuild

logger = structlog.get_logger(__name__)

_LOOK_SECONDS = 2.0
_SWEEP_SECONDS = 60.0
_RETRY_SECONDS = 5.0
_LEFT_SECONDS = 60.0
"""For so long, a row of another build is left to gateways of that build."""


class Waiting(Protocol):
    """A row that is to be worked on."""

    id: str
    owner: str


class Locked(Protocol):
    """A row's folder, which one process holds at a time."""

    def lock(self) -> bool:
        """Become the one process that works on it. False when another is, or there is nothing to lock."""

    def unlock(self) -> None:
        """Let others have it."""


Row = TypeVar("Row", bound=Waiting)
Files = TypeVar("Files", bound=Locked)


class Work(Protocol[Row, Files]):
    """What is worked on, and how. Methods raise `FAILURES`, which are logged; the rest is a bug."""

    async def waiting(self) -> Sequence[Row]:
        """The oldest first."""

    async def to_lock(self, row: Row, /) -> Files:
        """Its folder, which has to be there."""

    async def begin(self, row: Row, files: Files, /) -> Row | None:
        """The row as it is now that its folder is locked, marked as running; None: it ended meanwhile."""

    async def work(self, row: Row, files: Files, /) -> None:
        """To its end, or until it is cancelled. Raises OfAnotherBuild."""

    async def sweep(self) -> None:
        """Remove what is old or too much."""


class Tending(Generic[Row, Files]):
    """Does the work of one kind for as long as `running()` lasts."""

    def __init__(
        self, work: Work[Row, Files], at_once: int, is_closing: Callable[[], bool], gauge: Gauge
    ) -> None:
        self._work, self._at_once, self._is_closing, self._gauge = work, at_once, is_closing, gauge
        self.tasks: dict[str, asyncio.Task[None]] = {}
        """By the id of the row."""
        self._owners: dict[str, str] = {}
        """Owners of the rows that are worked on here, by the id of the row."""
        self._left_until: dict[str, float] = {}
        """By the ids of rows that are left to others, the time by the monotonic clock."""
        self._wake = asyncio.Event()
        self._swept_at = 0.0

    def wake(self) -> None:
        """There is something new to be worked on."""
        self._wake.set()

    async def stop(self, id: str) -> None:
        """Nobody works on it here any more when this returns."""
        if (task := self.tasks.get(id)) is not None:
            task.cancel()
            await asyncio.wait({task})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work for as long as the block lasts; what is not complete then goes on later."""
        tending = asyncio.create_task(self._tend())
        try:
            yield
        finally:
            tending.cancel()
            await asyncio.wait({tending})
            tasks = set(self.tasks.values())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def _tend(self) -> None:
        while True:
            with self._problems_logged():
                await self._start_more()
            if time.monotonic() - self._swept_at > _SWEEP_SECONDS or not self._swept_at:
                self._swept_at = time.monotonic()
                with self._problems_logged():
                    await self._work.sweep()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._wake.wait()
            self._wake.clear()

    async def _start_more(self) -> None:
        """Take what waits, in turns between owners, as long as there is room."""
        if len(self.tasks) >= self._at_once or self._is_closing():
            return
        seconds = time.monotonic()
        self._left_until = {id: until for id, until in self._left_until.items() if until > seconds}
        not_ours = self.tasks.keys() | self._left_until.keys()
        waiting = [row for row in await self._work.waiting() if row.id not in not_ours]
        while waiting and len(self.tasks) < self._at_once:
            owners = Counter(self._owners.values())
            row = min(waiting, key=lambda row: owners[row.owner])  # the first of the least
            waiting.remove(row)
            if (files := await self._locked(row)) is not None:
                await self._start(row, files)

    async def _locked(self, row: Row) -> Files | None:
        """Its folder; None where another process has it, or it cannot be locked, which keeps no other row."""
        try:
            files = await self._work.to_lock(row)
            return files if await asyncio.to_thread(files.lock) else None
        except OSError as error:
            logger.warning("cannot be locked", id=row.id, reason=type(error).__name__)
            return None

    async def _start(self, row: Row, files: Files) -> None:
        """`row` as it was before the lock: what another gateway did meanwhile is read again."""
        try:
            fresh = await self._work.begin(row, files)
        except BaseException:
            files.unlock()
            raise
        if fresh is None:
            files.unlock()
            return
        self._owners[fresh.id] = fresh.owner
        self.tasks[fresh.id] = asyncio.create_task(self._do(fresh, files))
        self._gauge.set(len(self.tasks))

    async def _do(self, row: Row, files: Files) -> None:
        try:
            await self._work.work(row, files)
        except OfAnotherBuild:
            self._left_until[row.id] = time.monotonic() + _LEFT_SECONDS
            logger.info("left to gateways of another build", id=row.id)
        except FAILURES as error:
            logger.warning("cannot be kept up", id=row.id, reason=type(error).__name__)
            await asyncio.sleep(_RETRY_SECONDS)
        finally:
            files.unlock()
            del self.tasks[row.id], self._owners[row.id]
            self._gauge.set(len(self.tasks))
            self._wake.set()

    @contextlib.contextmanager
    def _problems_logged(self) -> Iterator[None]:
        """The database or the disk may be away for a while; the gateway goes on."""
        kind = type(self._work).__name__
        try:
            yield
        except (*FAILURES, ApiError) as error:
            logger.warning("rows that wait cannot be looked at", of=kind, reason=type(error).__name__)
        except Exception:
            logger.exception("the upkeep failed", of=kind)
