"""Requests that a client repeats because it never heard the answer: each makes one row, and no second one.

    row = await made_once(gateway.database, Job, asked, make)

A client names a key with its request (`Idempotency-Key`). The key is kept with the row that the request made,
for as long as the row is, and means that row to its owner alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from gateway.database.connection import Database
from gateway.database.tables import AskedRow
from gateway.database.transactions import answered
from gateway.errors import ApiError

HEADER = "Idempotency-Key"
Row = TypeVar("Row", bound=AskedRow)


@dataclass(frozen=True)
class Asked:
    """By what a request is known again. Both are empty where it named no key."""

    key: str | None = None
    sum: str | None = None

    @classmethod
    def of(cls, key: str | None, owner: str, content: str) -> Asked:
        """What `owner` asks for with `key`: `content`."""
        return cls(_sum(f"{owner}\n{key}"), _sum(content)) if key is not None else NOT_ASKED

    def mark(self, row: AskedRow) -> None:
        """Have the row known by it."""
        row.request_key, row.request_sum = self.key, self.sum


NOT_ASKED = Asked()


async def made_once(
    database: Database, table: type[Row], asked: Asked, make: Callable[[], Awaitable[Row]]
) -> Row:
    """The row that a request with this key has made, else what `make` makes, which marks it.

    Of requests that come at once, all but one fail at the key, at the name or for lack of room: that the row
    is there by then is what counts. Raises ApiError: 422 where the key came with another request, 503.
    """
    if asked.key is None:
        return await make()
    if (row := await _made(database, table, asked)) is not None:
        return row
    try:
        return await make()
    except (ApiError, IntegrityError):
        if (row := await _made(database, table, asked)) is None:
            raise
        return row


async def _made(database: Database, table: type[Row], asked: Asked) -> Row | None:
    async with answered(database, "what is kept", "database_unavailable") as rows:
        row = await rows.scalar(select(table).where(table.request_key == asked.key))
    if row is not None and row.request_sum != asked.sum:
        message = f"this {HEADER} came with another request before"
        raise ApiError(422, "idempotency_key_reused", message, param=HEADER)
    return row


def _sum(content: str) -> str:
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()
