"""What was made while the clock was ahead: it ages from when that is noticed, not from its date.

Its date stays as it is, and what was noticed is forgotten once the clock is not behind the date any more: it
may have been the clock that was wrong, as one is that begins in 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.connection import Database
from gateway.database.tables import DatedAhead
from gateway.database.transactions import AT_A_TIME, in_turns, insert_in_turns, lock

AHEAD = timedelta(days=1)
"""The clocks of two gateways may differ by less."""
_LOCK = 0x61686561


async def ahead_since(
    database: Database, kind: str, dates: Mapping[str, datetime], now: datetime, *, note: bool = True
) -> dict[str, datetime]:
    """The ids of those dated ahead of `now`, and since when that is known.

    `dates`: of all there are of a kind. Without `note` nothing is written, and what is new is known since
    `now`. Raises DatabaseError and SQLAlchemyError.
    """
    ahead = {id for id, date in dates.items() if date > now + AHEAD}
    async with database.transaction() as rows:
        known = await _known(rows, kind)
        if note and known.keys() != ahead:
            await lock(rows, _LOCK)
            known = await _known(rows, kind)
            await _forget(rows, kind, known.keys() - ahead)
            new = ({"kind": kind, "id": id, "since": now} for id in ahead - known.keys())
            await insert_in_turns(rows, DatedAhead, new)
        return {id: known.get(id, now) for id in ahead}


async def _known(rows: AsyncSession, kind: str) -> dict[str, datetime]:
    noted = select(DatedAhead.id, DatedAhead.since).where(DatedAhead.kind == kind)
    return {id: since async for id, since in in_turns(rows, noted)}


async def _forget(rows: AsyncSession, kind: str, ids: Iterable[str]) -> None:
    left = iter(ids)
    while some := list(islice(left, AT_A_TIME)):
        await rows.execute(delete(DatedAhead).where(DatedAhead.kind == kind, DatedAhead.id.in_(some)))
