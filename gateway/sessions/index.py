"""The rows of sessions: who owns them, how far they are, when they were last used."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, delete, func, select, update

from gateway.callers.turns import OwnersTurns
from gateway.database import Database, Session
from gateway.database.pages import Place, newest_first
from gateway.database.tables import now
from gateway.database.transactions import in_turns
from gateway.sessions.search import folded_title, has_all
from gateway.sessions.storage.recording_files import Facts

TOUCH_SECONDS = 60.0
"""How often looking at a session is written down."""
STALE_SECONDS = 60.0
"""An active session whose gateway has not been heard of for so long is nobody's any more."""


@dataclass(frozen=True)
class Progress:
    """What a gateway says of a session that it records: `new` makes its row, `columns` change."""

    session_id: str
    columns: dict[str, Any]
    new: Session | None = None


class SessionIndex:
    """Reads and writes the table. Everything raises DatabaseError or SQLAlchemyError."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._searches = OwnersTurns("too many searches are under way")
        self.writing = asyncio.Lock()
        """Held while the gateway's own tasks write: one that is cancelled then may keep SQLite locked."""

    def present(self) -> datetime:
        """What time it is for sessions that go by their age."""
        return self.database.present.now()

    # ------------------------------------------------------------------------- while it is recorded

    async def save(self, changes: Sequence[Progress]) -> None:
        """Take in what changed, in one transaction."""
        async with self.writing, self.database.transaction() as rows:
            for change in changes:
                if change.new is not None and await rows.get(Session, change.session_id) is None:
                    rows.add(change.new)
                    await rows.flush()
                statement = update(Session).where(Session.id == change.session_id)
                await rows.execute(statement.values(**change.columns, used_at=now()))

    async def active(self) -> list[Session]:
        """Sessions that some gateway records, or recorded when it died."""
        async with self.database.transaction() as rows:
            return list(await rows.scalars(select(Session).where(Session.state == "active")))

    async def interrupt(self, session_id: str, facts: Facts | None) -> bool:
        """Say that a session ended without its gateway; False when it had ended already."""
        columns: dict[str, Any] = {"state": "interrupted", "ended_at": now()}
        columns |= vars(facts) if facts else {}
        statement = update(Session).where(Session.id == session_id, Session.state == "active")
        async with self.writing, self.database.transaction() as rows:
            return (await rows.execute(statement.values(**columns))).rowcount > 0

    async def unsearchable(self, limit: int) -> list[Session]:
        """Sessions that ended before there was a search."""
        statement = (
            select(Session).where(Session.search_text.is_(None), Session.state != "active").limit(limit)
        )
        async with self.database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def make_searchable(self, row: Session, search_text: str) -> None:
        """By its title, comment, voice and these words."""
        title = folded_title(row.title, row.comment, row.voice)
        statement = update(Session).where(Session.id == row.id, Session.search_text.is_(None))
        async with self.writing, self.database.transaction() as rows:
            await rows.execute(statement.values(search_title=title, search_text=search_text))

    # --------------------------------------------------------------------------------- to be read

    async def get(self, session_id: str) -> Session | None:
        """One session."""
        async with self.database.transaction() as rows:
            return await rows.get(Session, session_id)

    async def list(
        self,
        owner: str | None,
        limit: int,
        before: Place | None = None,
        search: str = "",
    ) -> list[Session]:
        """The newest first; after `before`; everybody's when `owner` is None.

        `search`: only those with all of its words. One search runs after the other, and owners take turns.
        Raises ApiError 503 for who waits too long.
        """
        statement = newest_first(select(Session), Session, limit, before)
        if owner is not None:
            statement = statement.where(Session.owner == owner)
        if search:
            statement = statement.where(has_all(search))
        turn = self._searches.take(owner or "") if search else nullcontext()
        async with turn, self.database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def totals(self) -> tuple[int, int, int]:
        """Sessions, active ones among them, and bytes of all."""
        is_active = func.count().filter(Session.state == "active")
        total = func.coalesce(func.sum(Session.size_bytes), 0)
        async with self.database.transaction() as rows:
            row: Row[tuple[int, int, int]] = (
                await rows.execute(select(func.count(), is_active, total).select_from(Session))
            ).one()
            return int(row[0]), int(row[1]), int(row[2])

    async def largest_owner_bytes(self) -> int:
        """Bytes of the owner whose sessions take up most."""
        each = select(func.sum(Session.size_bytes).label("size")).group_by(Session.owner).subquery()
        async with self.database.transaction() as rows:
            return int(await rows.scalar(select(func.coalesce(func.max(each.c.size), 0))) or 0)

    async def all(self) -> list[Row[tuple[str, datetime, datetime, int, str, str]]]:
        """Id, created_at, used_at, size_bytes, state and owner of all sessions, active ones too."""
        row = Session
        statement = select(row.id, row.created_at, row.used_at, row.size_bytes, row.state, row.owner)
        async with self.database.transaction() as rows:
            return [found async for found in in_turns(rows, statement)]

    # -------------------------------------------------------------------------------- to be changed

    async def touch(self, session: Session) -> None:
        """Somebody looked at it. Written once a minute."""
        limit = now() - timedelta(seconds=TOUCH_SECONDS)
        if session.used_at > limit:
            return
        statement = update(Session).where(Session.id == session.id, Session.used_at <= limit)
        async with self.database.transaction() as rows:
            await rows.execute(statement.values(used_at=now()))

    async def change(self, session_id: str, **columns: Any) -> Session | None:
        """Set columns; the row as it is then, or None when it is gone."""
        async with self.database.transaction(erasing=True) as rows:
            if columns:
                await rows.execute(update(Session).where(Session.id == session_id).values(**columns))
            row = await rows.get(Session, session_id)
            if row is not None and not columns.keys().isdisjoint(("title", "comment")):
                row.search_title = folded_title(row.title, row.comment, row.voice)
            return row

    async def share(self, session_id: str) -> Session | None:
        """Give it a key, unless it has one; the row."""
        statement = update(Session).where(Session.id == session_id, Session.share_key.is_(None))
        async with self.database.transaction() as rows:
            await rows.execute(statement.values(share_key=secrets.token_urlsafe(24)))
            return await rows.get(Session, session_id)

    async def remove(self, session_id: str) -> bool:
        """Forget it; False when it is active or gone."""
        statement = delete(Session).where(Session.id == session_id, Session.state != "active")
        async with self.writing, self.database.transaction(erasing=True) as rows:
            return (await rows.execute(statement)).rowcount > 0
