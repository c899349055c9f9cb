"""The rows of jobs: whose they are, how far they are, which are to be worked on.

A take of a book is a job, too; it counts as the book's, and is listed with it alone.

Everything raises DatabaseError or SQLAlchemyError. What writes is whole also when its caller is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, Job
from gateway.database.tables import now
from gateway.database.transactions import lock, to_its_end
from gateway.errors import ApiError

OPEN = ("queued", "running")
"""States in which a job is worked on, or will be."""
_LOCK = 0x6A6F6273
_BY_ITSELF = Job.book_id.is_(None)
_FIRST_OF_AN_OWNER = 64
"""Jobs that are looked at: a book may have thousands that wait."""
_NO_ERROR = {"error_code": None, "error_message": None, "ended_at": None}


class JobStore:
    """Reads and writes the table."""

    def __init__(self, database: Database, most: int, most_per_owner: int) -> None:
        self._database = database
        self._most = most
        self._most_per_owner = most_per_owner

    async def add(self, job: Job) -> None:
        """A new one. Raises ApiError 429 when its owner, or all together, have too many."""
        await to_its_end(self._add(job))

    async def _add(self, job: Job) -> None:
        async with self._database.transaction() as rows:
            await lock(rows, _LOCK)
            if await _count(rows, _BY_ITSELF, Job.owner == job.owner) >= self._most_per_owner:
                message = f"a client has at most {self._most_per_owner} jobs: delete some first"
                raise ApiError(429, "too_many_jobs", message, retry_after_seconds=60)
            if await _count(rows, _BY_ITSELF) >= self._most:
                message = f"the service keeps at most {self._most} jobs"
                raise ApiError(429, "too_many_jobs", message, retry_after_seconds=60)
            rows.add(job)

    async def get(self, job_id: str) -> Job | None:
        """One of them."""
        async with self._database.transaction() as rows:
            return await rows.get(Job, job_id)

    async def list(
        self, owner: str | None, limit: int, before: tuple[datetime, str] | None = None
    ) -> list[Job]:
        """The newest first; everybody's when `owner` is None. `before`: created_at and id of the last one."""
        newest = (Job.created_at.desc(), Job.id.desc())
        statement = select(Job).where(_BY_ITSELF).order_by(*newest).limit(limit)
        if owner is not None:
            statement = statement.where(Job.owner == owner)
        if before is not None:
            created_at, job_id = before
            same = and_(Job.created_at == created_at, Job.id < job_id)
            statement = statement.where(or_(Job.created_at < created_at, same))
        async with self._database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def open_jobs(self) -> list[Job]:
        """Those that are to be worked on, each owner's first, the oldest first."""
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

    async def kept(self) -> dict[str, int]:
        """Bytes of each job and take."""
        async with self._database.transaction() as rows:
            return dict((await rows.execute(select(Job.id, Job.size_bytes))).all())

    async def change(self, job_id: str, states: Sequence[str], **columns: Any) -> bool:
        """Set columns of a job in one of the states; False when it is in another, or gone."""
        return await to_its_end(self._change(job_id, states, columns))

    async def _change(self, job_id: str, states: Sequence[str], columns: dict[str, Any]) -> bool:
        statement = update(Job).where(Job.id == job_id, Job.state.in_(states))
        async with self._database.transaction() as rows:
            return (await rows.execute(statement.values(**columns, used_at=now()))).rowcount > 0

    async def end(self, job_id: str, state: str, error: ApiError | None = None) -> bool:
        """It failed or was cancelled; False when it had ended already."""
        said = {"error_code": error.code, "error_message": error.message} if error else {}
        return await self.change(job_id, OPEN, state=state, ended_at=now(), **said)

    async def reopen(self, job_id: str) -> bool:
        """Go on with one that failed or was cancelled; False for others."""
        return await self.change(job_id, ("failed", "cancelled"), state="queued", **_NO_ERROR)

    async def remove(self, job_id: str) -> None:
        """Forget it."""
        await to_its_end(self._remove(job_id))

    async def _remove(self, job_id: str) -> None:
        async with self._database.transaction(erasing=True) as rows:
            await rows.execute(delete(Job).where(Job.id == job_id))


async def _count(rows: AsyncSession, *conditions: Any) -> int:
    return int(await rows.scalar(select(func.count()).select_from(Job).where(*conditions)) or 0)
