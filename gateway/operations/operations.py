"""What is kept for operators while the gateway runs, and how it is changed.

Pages and estimates are rows of the database. They are read at the start and every two seconds from then on,
so a change at one gateway holds at all that share the database within that time, and at the one that was
asked at once. When the database fails, what was read last holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.database import Database, DatabaseError
from gateway.database.transactions import FAILURES
from gateway.errors import ApiError
from gateway.operations.eta_settings import EtaControl
from gateway.operations.event_log import EventLog
from gateway.operations.fleet import FleetDesk
from gateway.operations.measurements.history import History
from gateway.operations.overload import OverloadWatch
from gateway.operations.pages import Pages, PageState
from gateway.operations.stored import read_groups, write_group
from gateway.operations.worker_journal import WorkerJournal
from gateway.slots.capacity.estimates import EtaTuning
from gateway.slots.pool import WorkerPool

logger = structlog.get_logger(__name__)

REFRESH_SECONDS = 2.0
_LAST_READ_SECONDS = 2.0
"""How long the end waits for a read that has begun."""


class Operations:
    """Pages, estimates, event log, figures and overload watch of one gateway."""

    def __init__(
        self, pool: WorkerPool, database: Database, tuning: EtaTuning, *, fleet_may_be_empty: bool = False
    ) -> None:
        self.pages = Pages()
        self.eta = EtaControl(tuning)
        self.log = EventLog(database)
        self.history = History(pool, database)
        self.fleet = FleetDesk(pool, self.log, may_be_empty=fleet_may_be_empty)
        self._overload = OverloadWatch(self.log)
        self._journal = WorkerJournal(pool, self.log)
        self._database = database
        self._in_order = asyncio.Lock()
        """What was read before a change is not applied after it."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Apply what is stored and follow it, for as long as the block lasts. Raises DatabaseError."""
        try:
            await self._load()
        except SQLAlchemyError as error:
            raise DatabaseError(f"the settings cannot be read: {type(error).__name__}") from error
        self.log.start()
        self.log.say("started", "", "started")
        following = asyncio.create_task(self._follow())
        looking = asyncio.create_task(self.history.run())
        try:
            yield
        finally:
            await self._end(following)
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await self.history.close()
            await self.log.close()

    def ended(self, outcome: str, first_audio_seconds: float | None = None) -> None:
        """A request or a live session came to its end. Its first audio: after its arrival, if any."""
        self._overload.note(outcome)
        self.history.ended(outcome, first_audio_seconds)

    async def _end(self, following: asyncio.Task[None]) -> None:
        """Between two reads: one cut off in the middle leaves a connection that nobody closes."""
        try:
            async with asyncio.timeout(_LAST_READ_SECONDS), self._in_order:
                following.cancel()
        except TimeoutError:
            logger.warning("the settings are still being read at the end")
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def set_pages(self, states: list[PageState], who: str) -> None:
        """Switch pages on or off, here and at every gateway of the database. Raises ApiError: 503."""
        changes = {state.id: state.enabled for state in states}
        await self._store(self.pages.GROUP, changes)
        for page, on in sorted(changes.items()):
            self.log.say("settings", "pages", "page_on" if on else "page_off", page=page, who=who)

    async def set_eta(self, fields: Mapping[str, Any], who: str) -> None:
        """Change some of the values that waits are estimated with. Raises ApiError: 422, 503."""
        changed = self.eta.changed_by(fields).model_dump(include=set(fields))
        await self._store(self.eta.GROUP, changed)
        words = ", ".join(f"{name} = {value:g}" for name, value in sorted(changed.items()))
        if words:
            self.log.say("settings", "eta", "values", values=words, who=who)

    async def _store(self, group: str, values: Mapping[str, Any]) -> None:
        try:
            async with self._in_order:
                await write_group(self._database, group, values)
                self._apply(await read_groups(self._database))
        except FAILURES as error:
            logger.warning("a setting cannot be kept", group=group, error=type(error).__name__)
            raise ApiError(503, "database_unavailable", "the setting could not be kept") from error

    async def _load(self) -> None:
        async with self._in_order:
            self._apply(await read_groups(self._database))

    def _apply(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        for part in (self.pages, self.eta):
            part.load(groups.get(part.GROUP, {}))

    async def _follow(self) -> None:
        failing = False
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self._load()
                failing = False
            except FAILURES as error:
                if not failing:
                    logger.warning("the settings cannot be read", error=type(error).__name__)
                failing = True
