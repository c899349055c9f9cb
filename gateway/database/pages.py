"""Lists that are told page by page, the newest row first."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, or_

from gateway.database.tables import Book, Job, Session

Place = tuple[datetime, str]
"""created_at and id of the last row of a page."""


def newest_first(
    statement: Select[Any], table: type[Session | Job | Book], limit: int, before: Place | None
) -> Select[Any]:
    """At most `limit` of its rows, those after `before` where that is given."""
    statement = statement.order_by(table.created_at.desc(), table.id.desc()).limit(limit)
    if before is None:
        return statement
    created_at, row_id = before
    same = and_(table.created_at == created_at, table.id < row_id)
    return statement.where(or_(table.created_at < created_at, same))
