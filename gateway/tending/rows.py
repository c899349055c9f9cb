"""What the stores of jobs and of trainings share: rows that wait, are worked on, and end.

Everything raises DatabaseError or SQLAlchemyError. What writes is whole also when its caller is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Book, Database, TendedRow
from gateway.database.tables import now
from gateway.database.transactions import lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end

OPEN = ("queued", "running")
"""States in which one is worked on, or will be."""
Row = TypeVar("Row", bound=TendedRow)


class Room(NamedTuple):
    """How many there may be. `lock`: what those who count take first; `kind`: what they are called."""

    kind: str
    lock: int
    most: int
    most_per_owner: int

    async def check(self, rows: AsyncSession, table: type[TendedRow | Book], owner: str, *those: Any) -> None:
        """For one more; `those`: conditions for rows that count. Raises ApiError 429."""
        await lock(rows, self.lock)
        code = f"too_many_{self.kind}"
        if await _count(rows, table, *those, table.owner == owner) >= self.most_per_owner:
            message = f"a client has at most {self.most_per_owner} {self.kind}: delete some first"
            raise ApiError(429, code, message, retry_after_seconds=60)
        if await _count(rows, table, *those) >= self.most:
            message = f"the service keeps at most {self.most} {self.kind}"
            raise ApiError(429, code, message, retry_after_seconds=60)


class TendedRows(Generic[Row]):
    """Reads and writes a table. `those`: conditions for rows that count against `room`."""

    def __init__(self, database: Database, table: type[Row], room: Room, *those: Any) -> None:
        self._database, self._table, self._room, self._those = database, table, room, those

    async def add(self, row: Row) -> None:
        """A new one. Raises ApiError 429 when its owner, or all together, have too many."""
        await to_its_end(self._add(row))

    async def _add(self, row: Row) -> None:
        async with self._database.transaction() as rows:
            await self._room.check(rows, self._table, row.owner, *self._those)
            rows.add(row)

    async def get(self, id: str) -> Row | None:
        """The row with this id."""
        async with self._database.transaction() as rows:
            return await rows.get(self._table, id)

    async def change(self, id: str, states: Sequence[str], **columns: Any) -> bool:
        """Set columns of one in one of the states; False when it is in another, or gone."""
        return await to_its_end(self._change(id, states, columns))

    async def _change(self, id: str, states: Sequence[str], columns: dict[str, Any]) -> bool:
        statement = update(self._table).where(self._table.id == id, self._table.state.in_(states))
        async with self._database.transaction() as rows:
            return (await rows.execute(statement.values(**columns, used_at=now()))).rowcount > 0

    async def end(self, id: str, state: str, error: ApiError | None = None) -> bool:
        """It failed or was cancelled; False when it had ended already."""
        said = {"error_code": error.code, "error_message": error.message} if error else {}
        return await self.change(id, OPEN, state=state, ended_at=now(), **said)

    async def reopen(self, id: str, states: Sequence[str], **columns: Any) -> bool:
        """Have one in one of the states worked on; False for others."""
        anew = {"error_code": None, "error_message": None, "ended_at": None}
        return await self.change(id, states, state="queued", **anew, **columns)


def error_of(row: TendedRow) -> dict[str, Any] | None:
    """Why it failed, as the API tells it."""
    if row.error_code is None:
        return None
    return {"code": row.error_code, "message": row.error_message}


async def _count(rows: AsyncSession, table: type[TendedRow | Book], *conditions: Any) -> int:
    return int(await rows.scalar(select(func.count()).select_from(table).where(*conditions)) or 0)
