"""Figures of the last hours and days for the admin page's graphs, kept in the database and thinned.

A gateway looks once a second and adds what it sees to three spans: one of 10 seconds that is kept for an
hour, one of a minute kept for a day, one of 10 minutes kept for a week. Every 10 seconds it writes those that
changed, so a crash costs no more. Each process writes rows of its own; who reads adds up all gateways. While
the database fails, the last hour of this gateway is shown from memory, and written later. Spans that have not
begun yet are of a clock that was set back since: they are not shown, and shed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Literal

import structlog
from sqlalchemy import delete, func, select

from gateway.database import Database, FigureSpan
from gateway.database.transactions import FAILURES
from gateway.finishing import to_its_end
from gateway.operations.measurements.builds import BUILD, GatewayBuilds
from gateway.operations.measurements.figures import Figures, total
from gateway.operations.measurements.sampling import PoolSampler
from gateway.operations.overload import REFUSALS
from gateway.slots.pool import WorkerPool
from telemetry.build import build

logger = structlog.get_logger(__name__)

Range = Literal["1h", "6h", "1d", "7d"]
RANGES: dict[Range, tuple[int, int]] = {
    "1h": (3600, 10),
    "6h": (6 * 3600, 60),
    "1d": (86_400, 60),
    "7d": (7 * 86_400, 600),
}
"""Seconds that are shown, and of a span."""
KEPT_SECONDS = {10: 3600, 60: 86_400, 600: 7 * 86_400}
"""By length of a span."""
MAX_SPANS = 16_000
"""Rows of one length that are kept, of all gateways."""
_MEMORY_SECONDS = 3600
_LOOK_SECONDS = 1.0
_WRITE_SECONDS = 10.0
_STANDSTILL_SECONDS = 60.0
"""So long after the last write that was taken, the database is said to take nothing."""
_SHED_SECONDS = 600.0
_AHEAD_SECONDS = 600.0
"""How far the clock of another gateway may be ahead: what it writes counts as of now."""
_ROWS_AT_ONCE = 500
_LEAST_SECONDS = 1.0
"""The shortest span that is shown."""
_Key = tuple[int, int]
"""Length of a span and its beginning, in seconds since 1970."""
_Row = tuple[int, str, Figures]
"""Beginning of a span, gateway, and what that measured."""


class History:
    """What one gateway measures, and what all of them measured."""

    def __init__(
        self,
        pool: WorkerPool,
        database: Database,
        clock: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
        own_build: str | None = None,
    ) -> None:
        """`clock`: seconds since 1970. `own_build`: None is this process's."""
        self.builds = GatewayBuilds(database, clock)
        self._build: str | None = own_build or build()
        self._database = database
        self._sampler = PoolSampler(pool, stopwatch)
        self._clock = clock
        self._name = secrets.token_hex(8)
        """The name of this process: nobody else writes its rows."""
        self._spans: dict[_Key, Figures] = {}
        self._unwritten: set[_Key] = set()
        self._shed_at = -_SHED_SECONDS
        self._failed = False
        """Whether the database took nothing when it was last written to."""
        self._stopwatch = stopwatch
        self._taken_at = stopwatch()
        self._writing = asyncio.Lock()

    @property
    def failing(self) -> bool:
        """Whether the database takes nothing: it fails, or does not answer, as on a disk that hangs."""
        return self._failed or self._stopwatch() - self._taken_at > _STANDSTILL_SECONDS

    # ------------------------------------------------------------------------------------------- what happens

    def ended(self, outcome: str, first_audio_seconds: float | None) -> None:
        """A request came to its end."""
        news = Figures(requests=1, refused=int(outcome in REFUSALS))
        if first_audio_seconds is not None:
            news.heard_after(first_audio_seconds)
        self._count(news)

    def look(self) -> None:
        """Count what there is to be seen now."""
        self._count(self._sampler.look())

    def _count(self, news: Figures) -> None:
        now = self._clock()
        for length in KEPT_SECONDS:
            key = length, int(now // length) * length
            self._spans.setdefault(key, Figures()).add(news)
            self._unwritten.add(key)

    # ------------------------------------------------------------------------------------------- the database

    async def run(self) -> None:
        """Look and write until cancelled; `close` writes the rest."""
        written_at = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look()
            if time.monotonic() - written_at >= _WRITE_SECONDS:
                written_at = time.monotonic()
                if await self.write():
                    await self.builds.look()

    async def close(self) -> None:
        """Write what is left, and that this gateway has ended."""
        self._build = None
        self.look()
        await self.write()

    async def write(self) -> bool:
        """Give what is new to the database, and shed what is old; False when it did not take it."""
        async with self._writing:
            self._forget()
            keys = sorted(self._unwritten)
            rows = [(key, self._spans[key].as_fields() | {BUILD: self._build}) for key in keys]
            self._unwritten.clear()
            try:
                await to_its_end(self._store(rows))
            except FAILURES as error:
                self._unwritten.update(keys)
                if not self._failed:
                    logger.warning("figures are kept in memory alone", error=type(error).__name__)
                self._failed = True
                return False
            self._failed = False
            self._taken_at = self._stopwatch()
            return True

    def _forget(self) -> None:
        """What is older than an hour is in the database, or lost."""
        now = self._clock()
        oldest = now - _MEMORY_SECONDS
        for length, at in [key for key in self._spans if sum(key) < oldest or key[1] > now]:
            del self._spans[length, at]
            self._unwritten.discard((length, at))

    async def _store(self, spans: list[tuple[_Key, dict[str, Any]]]) -> None:
        async with self._database.transaction() as rows:
            for (length, at), figures in spans:
                await rows.merge(FigureSpan(length=length, at=at, gateway=self._name, figures=figures))
        if time.monotonic() - self._shed_at >= _SHED_SECONDS:
            await self._shed()
            self._shed_at = time.monotonic()

    async def _shed(self) -> None:
        async with self._database.transaction() as rows:
            now = self._clock()
            for length, kept_seconds in KEPT_SECONDS.items():
                of_length = delete(FigureSpan).where(FigureSpan.length == length)
                is_old = FigureSpan.at < now - kept_seconds - length
                is_to_come = FigureSpan.at > now + _AHEAD_SECONDS
                await rows.execute(of_length.where(is_old | is_to_come))
                newest = select(FigureSpan.at).where(FigureSpan.length == length)
                surplus = newest.order_by(FigureSpan.at.desc()).offset(MAX_SPANS).limit(1)
                if (last := await rows.scalar(surplus)) is not None:
                    await rows.execute(of_length.where(FigureSpan.at <= last))

    # -------------------------------------------------------------------------------------------- to be read

    async def read(self, range: Range) -> dict[str, Any]:
        """Points of all gateways, the oldest first; without the database those of this one's last hour."""
        seconds, length = RANGES[range]
        now = self._clock()
        first = int((now - seconds) // length) * length
        stored = await self._stored(length, first, now) if await self.write() else None
        rows, gateways = stored or (None, 1)
        spans: dict[int, list[Figures]] = defaultdict(list)
        for at, _, figures in self._remembered(length, first) if rows is None else rows:
            spans[at].append(figures)
        points = [
            {"at": at, **whole.describe(min(max(now - at, _LEAST_SECONDS), length))}
            for at, parts in spans.items()
            if (whole := total(parts)).seconds >= _LEAST_SECONDS
        ]
        return {
            "range": range,
            "span_seconds": length,
            "from": first,
            "to": round(now, 3),
            "kept": "memory" if rows is None else "database",
            "gateways": gateways,
            "points": points,
        }

    def _remembered(self, length: int, first: int) -> list[_Row]:
        spans = [(at, self._name, figures) for (own, at), figures in self._spans.items() if own == length]
        return sorted((span for span in spans if span[0] >= first), key=lambda span: span[0])

    async def _stored(self, length: int, first: int, now: float) -> tuple[list[_Row], int] | None:
        """The rows of all gateways, and how many there are now; None when the database fails."""
        try:
            return await to_its_end(self._load(length, first, now))
        except FAILURES as error:
            logger.warning("figures cannot be read", error=type(error).__name__)
            return None

    async def _load(self, length: int, first: int, now: float) -> tuple[list[_Row], int]:
        """Between some hundred rows others have their turn."""
        found: list[_Row] = []
        shortest = min(KEPT_SECONDS)
        present = select(func.count(FigureSpan.gateway.distinct())).where(
            FigureSpan.length == shortest, FigureSpan.at.between(now - 2 * shortest, now)
        )
        wanted = (
            select(FigureSpan.at, FigureSpan.gateway, FigureSpan.figures)
            .where(FigureSpan.length == length, FigureSpan.at.between(first, now))
            .order_by(FigureSpan.at)
            .limit(MAX_SPANS)
        )
        async with self._database.transaction() as rows:
            async for part in (await rows.stream(wanted)).partitions(_ROWS_AT_ONCE):
                found += [(at, gateway, Figures.from_fields(fields)) for at, gateway, fields in part]
                await asyncio.sleep(0)
            gateways = await rows.scalar(present)
        return found, gateways or 1
