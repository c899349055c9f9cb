"""The tasks beside the recorder: rows that follow the files, sessions of gateways that died, clean-up.

Several gateways may share a database and its data folder. Each keeps `used_at` of what it records fresh; who
finds an active session that no process holds any more brings it in order and calls it interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from sqlalchemy.exc import DataError, IntegrityError

from gateway.database import Session
from gateway.database.ahead import AHEAD
from gateway.database.transactions import FAILURES
from gateway.files.disk import Disk
from gateway.metrics import Metrics
from gateway.sessions.cleanup import Limits, clean
from gateway.sessions.index import STALE_SECONDS, Progress, SessionIndex
from gateway.sessions.recording import Recording, Stage
from gateway.sessions.search import folded, folded_text, folded_title
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import Facts, read_timeline, recover
from gateway.settings import GatewaySettings

logger = structlog.get_logger(__name__)

_HEARTBEAT_SECONDS = 15.0
_SWEEP_SECONDS = 60.0
_FIRST_CLEANUP_SECONDS = 30.0
_CLEANUP_SECONDS = 24 * 3600.0
_RETRY_SECONDS = 2.0
_OLD_AT_ONCE = 50
_FIRST_CHARACTERS = 2000
"""Found of a session while it is recorded."""


class Upkeep:
    """Owns the tasks; `running()` brackets them."""

    def __init__(
        self,
        index: SessionIndex,
        folder: Path,
        settings: GatewaySettings,
        metrics: Metrics,
        disk: Disk,
    ) -> None:
        self.recordings: dict[str, Recording] = {}
        """Begun here, and not yet wholly in the database."""
        self.limits = Limits.of(settings)
        self._index = index
        self._folder = folder
        self._metrics = metrics
        self._disk = disk
        self._changed: dict[str, Recording] = {}
        self._wake = asyncio.Event()

    def expect(self, recording: Recording) -> None:
        """It begins; `changed` will tell of it."""
        self.recordings[recording.session_id] = recording

    def changed(self, recording: Recording) -> None:
        """Its files have begun, ended, or could not be written."""
        self.recordings[recording.session_id] = recording
        self._changed[recording.session_id] = recording
        self._wake.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end of the block, the database has what was told until then."""
        tasks = [
            asyncio.create_task(self._save_for_ever()),
            asyncio.create_task(self._repeat(self.sweep, 0.0, _SWEEP_SECONDS)),
            asyncio.create_task(self._repeat(self._clean, _FIRST_CLEANUP_SECONDS, _CLEANUP_SECONDS)),
        ]
        try:
            yield
        finally:
            async with self._index.writing:
                for task in tasks:
                    task.cancel()
            await asyncio.wait(tasks)
            with self._problems_logged():
                await self._save()

    # ------------------------------------------------------------------------------------ the rows

    async def _save_for_ever(self) -> None:
        heard_at = time.monotonic()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    await self._wake.wait()
            if (now := time.monotonic()) - heard_at >= _HEARTBEAT_SECONDS:
                heard_at = now
                running = (recording for recording in self.recordings.values() if recording.indexed)
                self._changed |= {recording.session_id: recording for recording in running}
            self._wake.clear()
            with self._problems_logged():
                await self._save()
                continue
            await asyncio.sleep(_RETRY_SECONDS)
            self._wake.set()

    async def _save(self) -> None:
        """All that changed, in one transaction; when that fails it stays changed."""
        changes = {identity: _change(recording) for identity, recording in self._changed.items()}
        batch, self._changed = self._changed, {}
        wanted = {identity: change for identity, change in changes.items() if change is not None}
        try:
            await self._save_rows(list(wanted.values()))
        except BaseException:
            self._changed = batch | self._changed
            raise
        for identity, recording in batch.items():
            recording.indexed = True
            change = wanted.get(identity)
            if change is None or "state" in change.columns:
                self.recordings.pop(identity, None)
                recording.settled.set()
            elif not recording.ended:
                recording.settled.set()

    async def _save_rows(self, changes: list[Progress]) -> None:
        """One that the database does not take is lost, and holds up no other."""
        try:
            if changes:
                await self._index.save(changes)
        except (DataError, IntegrityError) as error:
            if len(changes) == 1:
                reason = type(error.orig).__name__
                logger.error("a session is not listed", session_id=changes[0].session_id, reason=reason)
                return
            for change in changes:
                await self._save_rows([change])

    # ----------------------------------------------------------------------- what others left behind

    async def sweep(self) -> None:
        """Bring sessions in order whose gateway is gone, and count what all of them, and the disk, hold."""
        await interrupt_dead(self._index, self._folder, but=self.recordings)
        await make_searchable(self._index, self._folder)
        await self._look_at_disk()
        _, _, size_bytes = await self._index.totals()
        self._metrics.session_bytes.set(size_bytes)
        if self.limits.are_exceeded(size_bytes, await self._index.largest_owner_bytes()):
            await self._clean()

    async def _look_at_disk(self) -> None:
        was_full = self._disk.is_full
        has_room = await asyncio.to_thread(self._disk.look)
        if was_full == has_room:
            said = "there is room for recordings again" if has_room else "the disk is too full for recordings"
            logger.warning(said)

    async def _clean(self) -> None:
        removed = await clean(self._index, self._folder, self.limits)
        if removed:
            size_bytes = sum(item.size_bytes for item in removed)
            logger.info("sessions were cleaned up", sessions=len(removed), bytes=size_bytes)

    async def _repeat(
        self, work: Callable[[], Awaitable[None]], delay_seconds: float, interval_seconds: float
    ) -> None:
        await asyncio.sleep(delay_seconds)
        while True:
            with self._problems_logged():
                await work()
            await asyncio.sleep(interval_seconds)

    @contextlib.contextmanager
    def _problems_logged(self) -> Iterator[None]:
        """The database or the disk may be away for a while; speech goes on."""
        try:
            yield
        except FAILURES as error:
            logger.warning("sessions cannot be kept up", reason=type(error).__name__)
        except Exception:
            logger.exception("the upkeep of sessions failed")


async def interrupt_dead(index: SessionIndex, folder: Path, but: Container[str] = ()) -> None:
    """Bring in order whatever is called active, `but` for these, and held by no process any more."""
    for row in await index.active():
        if row.id not in but:
            await _interrupt_if_dead(index, folder, row)


async def _interrupt_if_dead(index: SessionIndex, folder: Path, row: Session) -> None:
    """One whose files are damaged, or not here, is interrupted as it is once nobody keeps it fresh."""
    facts: Facts | None = None
    problem: Exception | None = None
    try:
        facts = await asyncio.to_thread(recover, files.session_folder(folder, row.id))
        is_dead = facts is not None
    except Exception as error:
        problem = error
        silence = datetime.now(UTC) - row.used_at
        is_dead = silence > timedelta(seconds=STALE_SECONDS) or silence < -AHEAD
    if not (is_dead and await index.interrupt(row.id, facts)):
        return
    if problem is not None:
        logger.warning("a session cannot be recovered", session_id=row.id, reason=repr(problem))
    logger.info("a session was interrupted", session_id=row.id)


async def make_searchable(index: SessionIndex, folder: Path) -> None:
    """Have the words of sessions found that were recorded before there was a search."""
    while rows := await index.unsearchable(_OLD_AT_ONCE):
        for row in rows:
            try:
                built = await asyncio.to_thread(read_timeline, files.session_folder(folder, row.id))
                text = folded_text(built)
            except Exception as error:
                text = ""
                logger.warning("the words of a session cannot be read", session_id=row.id, reason=repr(error))
            await index.make_searchable(row, text)


def _change(recording: Recording) -> Progress | None:
    """What the index is to know; None of a recording of which nothing could be written."""
    if Stage.BEGUN not in recording.stages:
        return None
    new = None if recording.indexed else _new_row(recording)
    return Progress(recording.session_id, recording.progress(), new)


def _new_row(recording: Recording) -> Session:
    return Session(
        id=recording.session_id,
        kind=recording.kind,
        title=recording.title,
        owner=recording.owner,
        voice=recording.voice,
        seed=recording.seed,
        search_title=folded_title(recording.title, "", recording.voice),
        search_text=folded(recording.first_text[:_FIRST_CHARACTERS]),
        created_at=recording.created_at,
    )
