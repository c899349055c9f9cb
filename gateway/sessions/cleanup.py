"""Removing sessions: those older than the retention, then the least recently used until the rest fits.

An owner with too much loses their own; only then everybody's are looked at. A session that is being recorded
is never removed. A folder without a row, which a crash or another database can leave, has the age and the
last use that its files have, and goes a week after these were written last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Row

from gateway.database import Database
from gateway.database.ahead import ahead_since
from gateway.sessions.index import STALE_SECONDS, SessionIndex
from gateway.sessions.storage import files
from gateway.settings import GatewaySettings

_BYTES_PER_GB = 10**9
_ORPHAN_AGE = timedelta(days=7)
"""While the database is away from the gateway that recorded it, a row comes later than its files."""
_LONGEST_DAYS = 36_500
"""No session is older; dates do not reach back as far as a setting may."""


@dataclass(frozen=True)
class Limits:
    """Limits of what is kept; None: no limit."""

    age: timedelta | None = None
    """Since the session began."""
    size_bytes: int | None = None
    """The most bytes of all sessions together."""
    owner_bytes: int | None = None
    """The most bytes of one owner's."""

    @classmethod
    def of(cls, settings: GatewaySettings) -> Self:
        """The settings, where 0 means no limit."""
        return cls.from_numbers(
            settings.session_retention_days, settings.session_max_storage_gb, settings.session_max_owner_gb
        )

    @classmethod
    def from_numbers(cls, retention_days: float, max_storage_gb: float, max_owner_gb: float = 0) -> Self:
        """Days, and units of 10^9 bytes; 0 means no limit."""
        return cls(
            timedelta(days=min(retention_days, _LONGEST_DAYS)) if retention_days else None,
            round(max_storage_gb * _BYTES_PER_GB) if max_storage_gb else None,
            round(max_owner_gb * _BYTES_PER_GB) if max_owner_gb else None,
        )

    def are_exceeded(self, size_bytes: int, largest_owner_bytes: int) -> bool:
        """Whether there is more of all sessions, or of one owner's, than may be kept."""
        too_much = self.size_bytes is not None and size_bytes > self.size_bytes
        return too_much or (self.owner_bytes is not None and largest_owner_bytes > self.owner_bytes)


@dataclass(frozen=True)
class Stored:
    """A session on disk."""

    session_id: str
    created_at: datetime
    used_at: datetime
    size_bytes: int
    active: bool
    indexed: bool
    owner: str | None = None
    """None: nobody knows any more."""
    ahead_since: datetime | None = None
    """When it was noticed that it is dated ahead; None for what is not."""

    @property
    def aged_from(self) -> datetime:
        """When it was made, as far as that can be believed."""
        return min(self.created_at, self.ahead_since or self.created_at)

    @property
    def unused_from(self) -> datetime:
        """When it was last used, as far as that can be believed."""
        return min(self.used_at, self.ahead_since or self.used_at)

    def is_orphan(self, now: datetime) -> bool:
        """Whether it has no row, nobody writes it, and it is too old to get one still."""
        return not (self.indexed or self.active) and self.unused_from < now - _ORPHAN_AGE


@dataclass(frozen=True)
class Removed:
    """A session that was removed, or would be, and why: "age", "orphan", "owner" or "capacity"."""

    session_id: str
    reason: str
    size_bytes: int


async def clean(index: SessionIndex, folder: Path, limits: Limits, *, dry_run: bool = False) -> list[Removed]:
    """Remove what exceeds the limits; what was removed, in that order.

    Raises OSError, DatabaseError and SQLAlchemyError; what was removed until then stays removed.
    """
    if limits == Limits():
        return []
    present = index.present()
    stored = await _all_sessions(index, folder)
    stored = await noticed_ahead(index.database, "session", stored, present, note=not dry_run)
    indexed = {session.session_id: session.indexed for session in stored}
    removed = []
    for item in await asyncio.to_thread(choose, stored, limits, present):
        if dry_run or await _remove(index, folder, item, indexed[item.session_id]):
            removed.append(item)
    return removed


async def noticed_ahead(
    database: Database, kind: str, stored: list[Stored], now: datetime, *, note: bool = True
) -> list[Stored]:
    """All of a kind, with `ahead_since`. `note`, and what is raised: see `gateway.database.ahead`."""
    dates = await asyncio.to_thread(_last_dates, stored)
    ahead = await ahead_since(database, kind, dates, now, note=note)
    return await asyncio.to_thread(_marked, stored, ahead)


def _marked(stored: list[Stored], ahead: Mapping[str, datetime]) -> list[Stored]:
    return [
        replace(session, ahead_since=ahead[session.session_id]) if session.session_id in ahead else session
        for session in stored
    ]


def _last_dates(stored: list[Stored]) -> dict[str, datetime]:
    return {session.session_id: max(session.created_at, session.used_at) for session in stored}


def choose(stored: list[Stored], limits: Limits, now: datetime) -> list[Removed]:
    """What has to go of these sessions."""
    chosen: list[Removed] = []
    kept = sorted(stored, key=lambda session: (session.unused_from, session.used_at, session.session_id))
    if limits.age is not None:
        old = [session for session in kept if not session.active and session.aged_from < now - limits.age]
        chosen += [Removed(session.session_id, "age", session.size_bytes) for session in old]
        kept = _without(kept, old)
    orphans = [session for session in kept if session.is_orphan(now)]
    chosen += [Removed(session.session_id, "orphan", session.size_bytes) for session in orphans]
    kept = _without(kept, orphans)
    if limits.owner_bytes is not None:
        by_owner: dict[str, list[Stored]] = {}
        for session in kept:
            if session.owner is not None:
                by_owner.setdefault(session.owner, []).append(session)
        too_much = [each for owned in by_owner.values() for each in _excess(owned, limits.owner_bytes)]
        chosen += [Removed(session.session_id, "owner", session.size_bytes) for session in too_much]
        kept = _without(kept, too_much)
    if limits.size_bytes is not None:
        too_much = _excess(kept, limits.size_bytes)
        chosen += [Removed(session.session_id, "capacity", session.size_bytes) for session in too_much]
    return chosen


def _without(sessions: list[Stored], gone: list[Stored]) -> list[Stored]:
    ids = {session.session_id for session in gone}
    return [session for session in sessions if session.session_id not in ids]


def _excess(sessions: list[Stored], limit_bytes: int) -> list[Stored]:
    """The first of them that have to go for the others to fit; active ones stay."""
    excess = sum(session.size_bytes for session in sessions) - limit_bytes
    gone = []
    for session in sessions:
        if excess > 0 and not session.active:
            gone.append(session)
            excess -= session.size_bytes
    return gone


async def _all_sessions(index: SessionIndex, folder: Path) -> list[Stored]:
    return await asyncio.to_thread(_with_orphans, await index.all(), folder)


def _with_orphans(rows: Sequence[Row[Any]], folder: Path) -> list[Stored]:
    found = [
        Stored(row.id, row.created_at, row.used_at, row.size_bytes, row.state == "active", True, row.owner)
        for row in rows
    ]
    return found + _orphans(folder, {row.id for row in rows})


def _orphans(folder: Path, known: set[str]) -> list[Stored]:
    """Folders of sessions that have no row."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in known or not files.is_session_id(path.name) or not path.is_dir():
            continue
        try:
            written_at = datetime.fromtimestamp(files.last_written_at(path), UTC)
        except FileNotFoundError:
            continue
        created_at = _created_at(path)
        is_young = abs(datetime.now(UTC) - written_at) < timedelta(seconds=STALE_SECONDS)
        active = files.is_being_written(path) or (created_at is None and is_young)
        size_bytes = files.folder_bytes(path)
        found.append(Stored(path.name, created_at or written_at, written_at, size_bytes, active, False))
    return found


def _created_at(folder: Path) -> datetime | None:
    """By its meta.json, which is written as soon as the journal is locked."""
    meta = files.read_json(folder / files.META) or {}
    try:
        created_at = datetime.fromisoformat(meta["created_at"])
    except (KeyError, TypeError, ValueError):
        return None
    return created_at if created_at.tzinfo else created_at.replace(tzinfo=UTC)


async def _remove(index: SessionIndex, folder: Path, item: Removed, indexed: bool) -> bool:
    """The row first: what a crash leaves is a folder without a row, which the next clean-up finds."""
    if indexed and not await index.remove(item.session_id):
        return False
    await asyncio.to_thread(files.remove_folder, files.session_folder(folder, item.session_id))
    return True
