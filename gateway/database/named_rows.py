"""Rows that somebody made: with an owner, a name by which requests call them, a consent, and a file.

Custom voices and adapters are such rows. Everybody sees and names those with consent.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.connection import Database
from gateway.database.tables import NamedRow, folded_name, now
from gateway.database.transactions import answered, lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end
from gateway.text.lookalikes import in_latin
from gateway.text.printable import seen

Row = TypeVar("Row", bound=NamedRow)
_SOON_SECONDS = 1.0


@dataclass(frozen=True)
class Sort(Generic[Row]):
    """What rows of one table are called."""

    table: type[Row]
    noun: str
    prefix: str
    """The prefix of their ids."""
    lock: int
    """Any number that nobody else locks."""

    def is_id(self, reference: str) -> bool:
        """Whether it has the form of an id of ours."""
        return re.fullmatch(rf"{self.prefix}_[0-9a-f]{{16}}", reference) is not None

    def id_of(self, *origin: str) -> str:
        """The id of what is made of these once, also where its maker does not learn that it was."""
        digest = hashlib.sha256(" ".join(origin).encode()).hexdigest()
        return f"{self.prefix}_{digest[:16]}"

    def name_taken(self, name: str) -> ApiError:
        """Another one is called so."""
        return ApiError(409, "name_taken", f"another {self.noun} is called {name!r} already", param="name")

    def unknown(self, id: str) -> ApiError:
        """There is none, or it is not for the caller to see."""
        message = f"there is no {self.noun} {id[:128]!r}"
        return ApiError(404, f"unknown_{self.noun}", message, param=self.noun)


class NamedRows(Generic[Row]):
    """Rows of one table. Methods raise ApiError 503 when the database cannot be used."""

    def __init__(self, database: Database, sort: Sort[Row], most: int, most_per_owner: int) -> None:
        self._database = database
        self._sort = sort
        self._most, self._most_per_owner = most, most_per_owner

    async def get(self, id: str) -> Row | None:
        """The row of that id."""
        if not self._sort.is_id(id):
            return None
        async with self._rows() as rows:
            return await rows.get(self._sort.table, id)

    async def get_soon(self, id: str) -> Row | None:
        """The same, for somebody who is being spoken to: a database that is slow counts as away."""
        try:
            async with asyncio.timeout(_SOON_SECONDS):
                return await self.get(id)
        except TimeoutError:
            noun = self._sort.noun
            raise ApiError(503, f"{noun}s_unavailable", f"the {noun} cannot be looked up in time") from None

    def unknown(self, id: str) -> ApiError:
        """The answer where there is no such row."""
        return self._sort.unknown(id)

    async def find(self, reference: str, tenant: str | None) -> list[Row]:
        """The rows that a request of `tenant` may mean.

        The one of that id, whosever it is; else those that the tenant sees by that name. Where none has the
        name in that case, its own in another case; else those of others.
        """
        table = self._sort.table
        is_id = table.id == reference
        same_name = table.folded_name == folded_name(reference)
        of_before = and_(table.folded_name.is_(None), table.name == reference)
        query = select(table).where(or_(is_id, same_name, of_before), or_(is_id, self._seen_by(tenant)))
        async with self._rows() as rows:
            found = (await rows.scalars(query)).all()
        return meant_of(found, reference, tenant)

    async def visible_to(self, tenant: str | None, everything: bool = False) -> Sequence[Row]:
        """Rows with consent, and the tenant's own; all of them with `everything`."""
        query = select(self._sort.table)
        if not everything:
            query = query.where(self._seen_by(tenant))
        async with self._rows() as rows:
            return (await rows.scalars(query)).all()

    def _seen_by(self, tenant: str | None) -> Any:
        table = self._sort.table
        return or_(table.consent_at.is_not(None), table.owner == (tenant or ""))

    async def add(self, row: Row) -> Row:
        """Insert a row, with an id unless it has one. Raises ApiError: 409 too many, name taken, 422."""
        row.id = row.id or f"{self._sort.prefix}_{secrets.token_hex(8)}"
        await to_its_end(self._add(row))
        return row

    async def _add(self, row: Row) -> None:
        async with self._rows() as rows:
            await lock(rows, self._sort.lock)
            await self._check_room(rows, row.owner)
            await self._check_name(rows, row)
            rows.add(row)

    async def change(self, id: str, changes: dict[str, Any]) -> Row:
        """Set columns of a row. Raises ApiError: 404 when it is gone, 409 when the name is taken."""
        return await to_its_end(self._change(id, changes))

    async def _change(self, id: str, changes: dict[str, Any]) -> Row:
        async with self._rows(erasing=True) as rows:
            row = await self._locked(rows, id)
            for name, value in changes.items():
                setattr(row, name, value)
            if "name" in changes or changes.get("consent_at") is not None:
                with rows.no_autoflush:
                    await self._check_name(rows, row)
            row.updated_at = now()
        return row

    async def remove(self, id: str) -> str | None:
        """Delete a row; the hash of its file when no other row uses that. Raises ApiError 404."""
        return await to_its_end(self._remove(id))

    async def _remove(self, id: str) -> str | None:
        async with self._rows(erasing=True) as rows:
            row = await self._locked(rows, id)
            await rows.delete(row)
            await rows.flush()
            return None if await rows.scalar(self._count_of(row.content)) else row.content

    async def _locked(self, rows: AsyncSession, id: str) -> Row:
        """A row that nobody else changes meanwhile. Raises ApiError 404."""
        await lock(rows, self._sort.lock)
        row = await rows.get(self._sort.table, id)
        if row is None:
            raise self._sort.unknown(id)
        return row

    async def uses(self, content: str) -> bool:
        """Whether a row has the file of that hash."""
        async with self._rows() as rows:
            return bool(await rows.scalar(self._count_of(content)))

    def _count_of(self, content: str) -> Any:
        table = self._sort.table
        return select(func.count()).select_from(table).where(table.content == content)

    async def _check_room(self, rows: AsyncSession, owner: str) -> None:
        sort = self._sort
        everybody = select(func.count()).select_from(sort.table)
        if await rows.scalar(everybody) >= self._most:
            message = f"this service keeps at most {self._most} {sort.noun}s"
            raise ApiError(409, f"too_many_{sort.noun}s", message)
        if await rows.scalar(everybody.where(sort.table.owner == owner)) >= self._most_per_owner:
            message = f"one client may have at most {self._most_per_owner} {sort.noun}s; delete one first"
            raise ApiError(409, f"too_many_{sort.noun}s", message)

    async def _check_name(self, rows: AsyncSession, row: Row) -> None:
        """Who names one means one: no two of one owner have names that look the same, no two that everybody
        sees have names that look so in any case or script, and none has one that may be the id of another.
        """
        if self._sort.is_id(row.name):
            raise ApiError(422, "invalid_value", "name: has the form of an id", param="name")
        table = self._sort.table
        seen_by_all = table.consent_at.is_not(None)
        own = table.owner == row.owner
        others = or_(own, seen_by_all) if row.consent_at is not None else own
        names = await rows.execute(select(table.name, seen_by_all).where(table.id != row.id, others))
        for name, is_seen_by_all in names:
            both_are = is_seen_by_all and row.consent_at is not None
            if _alike(name, row.name, in_any_case=both_are):
                raise self._sort.name_taken(row.name)

    def _rows(self, *, erasing: bool = False) -> AbstractAsyncContextManager[AsyncSession]:
        noun = self._sort.noun
        return answered(self._database, f"custom {noun}s", f"{noun}s_unavailable", erasing=erasing)


def by_reference(rows: Iterable[Row]) -> Callable[[str], Collection[Row]]:
    """A function that tells which of `rows` a reference may mean; `meant_of` says of these which it does."""
    found: dict[str | None, dict[str, Row]] = {}
    for row in rows:
        for key in (row.id, row.name, row.folded_name):
            found.setdefault(key, {})[row.id] = row
    return lambda reference: (found.get(reference, {}) | found.get(folded_name(reference), {})).values()


def meant_of(rows: Iterable[Row], reference: str, tenant: str | None) -> list[Row]:
    """Those of `rows`, which a request of `tenant` may see, that it means by `reference`, as `find` says."""
    folded = folded_name(reference)
    found = [row for row in rows if row.folded_name == folded or reference in (row.id, row.name)]
    by_id = [row for row in found if row.id == reference]  # a row of before may have such a name
    exact = [row for row in found if row.name == reference]
    return by_id or exact or [row for row in found if row.owner == tenant] or found


def _alike(one: str, other: str, *, in_any_case: bool) -> bool:
    """Whether nobody tells the two names apart; in any case, also by which script they are in."""
    one, other = seen(one), seen(other)
    if not in_any_case:
        return one == other
    pairs = ((one, other), (in_latin(one), in_latin(other)))
    return any(folded_name(name) == folded_name(another) for name, another in pairs)
