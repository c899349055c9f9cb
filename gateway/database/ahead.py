"""What was made while the clock was ahead: it ages from when that is noticed, not from its date.

Its date stays as it is, and what was noticed is forgotten once the clock is not behind the date any more: it
may have been the clock that was wrong, as one is that begins in 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.connection import Database
from gateway.database.tables import DatedAhead
from gateway.database.transactions import lock

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
            for id in known.keys() - ahead:
                await rows.delete(known[id])
            rows.add_all(DatedAhead(kind=kind, id=id, since=now) for id in ahead - known.keys())
        return {id: known[id].since if id in known else now for id in ahead}


async def _known(rows: AsyncSession, kind: str) -> dict[str, DatedAhead]:
    return {row.id: row for row in await rows.scalars(select(DatedAhead).where(DatedAhead.kind == kind))}
