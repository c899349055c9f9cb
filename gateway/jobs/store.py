"""The rows of jobs: whose they are, how far they are, which are to be worked on.

A take of a book is a job, too; it counts as the book's, and is listed with it alone.

Everything raises DatabaseError or SQLAlchemyError. What writes is whole also when its caller is cancelled.
"""

from __future__ import annotations

from sqlalchemy import delete, func, select

from gateway.database import Database, Job
from gateway.database.pages import Place, newest_first
from gateway.finishing import to_its_end
from gateway.tending.rows import OPEN, Room, TendedRows

_LOCK = 0x6A6F6273
_BY_ITSELF = Job.book_id.is_(None)
_LOOKED_AT = 8
"""Takes of a book, for what its voice sounds like."""
_FIRST_OF_AN_OWNER = 64
"""Jobs that are looked at: a book may have thousands that wait."""


class JobStore(TendedRows[Job]):
    """Reads and writes the table."""

    def __init__(self, database: Database, most: int, most_per_owner: int) -> None:
        super().__init__(database, Job, Room("jobs", _LOCK, most, most_per_owner), _BY_ITSELF)

    async def list(self, owner: str | None, limit: int, before: Place | None = None) -> list[Job]:
        """The newest first, after `before`; everybody's when `owner` is None."""
        statement = newest_first(select(Job).where(_BY_ITSELF), Job, limit, before)
        if owner is not None:
            statement = statement.where(Job.owner == owner)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def open_jobs(self) -> list[Job]:
        """The jobs that are to be worked on, each owner's first, the oldest first."""
        order = (Job.precedence.desc(), Job.created_at, Job.id)
        number = func.row_number().over(partition_by=Job.owner, order_by=order)
        ranked = select(Job.id, number.label("number")).where(Job.state.in_(OPEN)).subquery()
        first = select(ranked.c.id).where(ranked.c.number <= _FIRST_OF_AN_OWNER)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(select(Job).where(Job.id.in_(first)).order_by(*order)))

    async def all_jobs(self) -> list[Job]:
        """The least recently used first, without takes."""
        async with self._database.transaction() as rows:
            return list(await rows.scalars(select(Job).where(_BY_ITSELF).order_by(Job.used_at, Job.id)))

    async def spoken_takes(self, book_id: str) -> list[str]:
        """Ids of the oldest takes of a book that are complete."""
        mine = (Job.book_id == book_id, Job.state == "complete", Job.parts > 0)
        statement = select(Job.id).where(*mine).order_by(Job.created_at, Job.id).limit(_LOOKED_AT)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def kept(self) -> dict[str, int]:
        """Bytes of each job and take."""
        async with self._database.transaction() as rows:
            return dict((await rows.execute(select(Job.id, Job.size_bytes))).all())

    async def remove(self, job_id: str) -> None:
        """Delete the row of a job."""
        await to_its_end(self._remove(job_id))

    async def _remove(self, job_id: str) -> None:
        async with self._database.transaction(erasing=True) as rows:
            await rows.execute(delete(Job).where(Job.id == job_id))
