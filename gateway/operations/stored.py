"""Settings changed at run time, as rows of the database: each value is a row of its own, so that two gateways
that change different values at once never undo each other's. The key of a row is "group.name".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from gateway.database import Database, Setting
from gateway.database.tables import now


async def read_groups(database: Database) -> dict[str, dict[str, Any]]:
    """Every stored value, by group and name. Raises SQLAlchemyError, DatabaseError, OSError."""
    groups: dict[str, dict[str, Any]] = {}
    async with database.transaction() as rows:
        for row in await rows.scalars(select(Setting)):
            group, _, name = row.key.partition(".")
            if name:
                groups.setdefault(group, {})[name] = row.value.get("value")
    return groups


async def write_group(database: Database, group: str, values: Mapping[str, Any]) -> None:
    """Keep `values`; others of the group stay as they are. Raises as `read_groups` does."""
    try:
        await _merge(database, group, values)
    except IntegrityError:
        await _merge(database, group, values)  # another gateway wrote the same row for the first time


async def _merge(database: Database, group: str, values: Mapping[str, Any]) -> None:
    async with database.transaction() as rows:
        for name, value in sorted(values.items()):
            await rows.merge(Setting(key=f"{group}.{name}", value={"value": value}, updated_at=now()))
