"""The rows of lexicons: one per owner, and one that is the service's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, OwnerLexicon
from gateway.database.tables import now
from gateway.database.transactions import answered, lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end

SERVICE = ""
"""The owner of the service's lexicon; no tenant is called so."""
_LOCK = 0x766F7A  # any number that nobody else locks


class LexiconStore:
    """Lexicons in the database. Methods raise ApiError 503 when it cannot be used."""

    def __init__(self, database: Database, max_lexicons: int, max_entries: int) -> None:
        self._database = database
        self._max_lexicons = max_lexicons
        self._max_entries = max_entries

    async def read(self, *owners: str) -> dict[str, dict[str, str]]:
        """The lexicons of these owners, as far as they have one."""
        async with self._rows() as rows:
            query = select(OwnerLexicon).where(OwnerLexicon.owner.in_(owners))
            return {row.owner: row.entries for row in await rows.scalars(query)}

    async def replace(self, owner: str, entries: Mapping[str, str]) -> dict[str, str]:
        """Have these entries and no others. Raises ApiError: 409 too many."""
        return await self._change(owner, lambda before: dict(entries))

    async def set(self, owner: str, word: str, spoken: str) -> dict[str, str]:
        """Add or change one entry; all there are then. Raises ApiError: 409 too many."""
        return await self._change(owner, lambda before: {**before, word: spoken})

    async def remove(self, owner: str, word: str) -> dict[str, str]:
        """Delete one entry; all there are then. Raises ApiError 404."""

        def without(before: dict[str, str]) -> dict[str, str]:
            if word not in before:
                raise ApiError(404, "unknown_word", f"the lexicon has no word {word!r}", param="word")
            return {other: spoken for other, spoken in before.items() if other != word}

        return await self._change(owner, without)

    async def _change(self, owner: str, change: Callable[[dict[str, str]], dict[str, str]]) -> dict[str, str]:
        return await to_its_end(self._write(owner, change))

    async def _write(self, owner: str, change: Callable[[dict[str, str]], dict[str, str]]) -> dict[str, str]:
        async with self._rows(erasing=True) as rows:
            await lock(rows, _LOCK)
            row = await rows.get(OwnerLexicon, owner)
            before = {} if row is None else row.entries
            entries = change(before)
            if len(entries) > max(self._max_entries, len(before)):
                message = f"a lexicon has at most {self._max_entries} entries; delete some first"
                raise ApiError(409, "too_many_entries", message)
            if row is not None and not entries:
                await rows.delete(row)
            elif row is not None:
                row.entries, row.updated_at = entries, now()
            elif entries:
                await self._check_room(rows, owner)
                rows.add(OwnerLexicon(owner=owner, entries=entries))
            return entries

    async def _check_room(self, rows: AsyncSession, owner: str) -> None:
        kept = select(func.count()).select_from(OwnerLexicon).where(OwnerLexicon.owner != SERVICE)
        if owner != SERVICE and await rows.scalar(kept) >= self._max_lexicons:
            message = f"this service keeps the lexicons of at most {self._max_lexicons} clients"
            raise ApiError(409, "too_many_lexicons", message)

    def _rows(self, *, erasing: bool = False) -> AbstractAsyncContextManager[AsyncSession]:
        return answered(self._database, "lexicons", "lexicons_unavailable", erasing=erasing)
