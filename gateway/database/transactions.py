"""What transactions need that read, decide and then write."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any, TypeVar

import structlog
from sqlalchemy import Row, Select, insert, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.address import DatabaseError
from gateway.database.connection import Database
from gateway.database.tables import Base
from gateway.errors import ApiError, disk_full

logger = structlog.get_logger(__name__)

FAILURES = (DatabaseError, SQLAlchemyError, OSError)
"""What a transaction raises when the database is at fault."""
AT_A_TIME = 100
"""Rows of which objects are made, or that are written, before anybody else has a turn."""
Columns = TypeVar("Columns", bound=tuple[Any, ...])
_STANDSTILL_SECONDS = 30.0
_LOCK_FOR_A_WHILE = text(
    "SELECT set_config('idle_in_transaction_session_timeout', :most, true), pg_advisory_xact_lock(:key)"
)
_FULL = {sqlite3.SQLITE_FULL, "53100"}
"""As SQLite and PostgreSQL say that there is no room."""


@asynccontextmanager
async def answered(
    database: Database, kept: str, code: str, *, erasing: bool = False
) -> AsyncIterator[AsyncSession]:
    """`Database.transaction` for a client. Raises ApiError: 503 `code` where what is `kept` is away, 507."""
    try:
        async with database.transaction(erasing=erasing) as rows:
            yield rows
    except FAILURES as error:
        if _came_twice(error):
            logger.info("a request came twice at once", kept=kept)
        else:
            logger.error("the database failed", kept=kept, error=type(error).__name__)
        raise failure_of(error, kept, code) from error


def _came_twice(error: Exception) -> bool:
    """Whether there is a row with the request's key by now (`repeats.py`), as clients may bring about."""
    return isinstance(error, IntegrityError) and "request_key" in str(error.orig)


def failure_of(error: Exception, kept: str, code: str) -> ApiError:
    """What a client hears of it: 507 where the database has no room, else 503 `code`."""
    cause = getattr(error, "orig", None)
    if _FULL & {getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)}:
        return disk_full()
    return ApiError(503, code, f"{kept} cannot be reached at the moment", retry_after_seconds=5)


async def lock(rows: AsyncSession, key: int) -> None:
    """Nobody else who locks `key`, in this gateway or another, writes until the transaction ends.

    PostgreSQL ends it where nothing is asked in it for long: a gateway that is cut off may never end it.
    """
    connection = await rows.connection()
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        patience = {"most": f"{_STANDSTILL_SECONDS * 1000:.0f}", "key": key}
        await connection.execute(_LOCK_FOR_A_WHILE, patience)


async def in_turns(rows: AsyncSession, statement: Select[Columns]) -> AsyncIterator[Row[Columns]]:
    """The rows of a statement that may find thousands: of objects or, which is far quicker, of columns.
    They are made on the event loop, some at a time.
    """
    found = await rows.stream(statement.execution_options(yield_per=AT_A_TIME))
    async for some in found.partitions():
        for row in some:
            yield row
        await asyncio.sleep(0)


async def insert_in_turns(rows: AsyncSession, table: type[Base], new: Iterable[dict[str, Any]]) -> None:
    """Rows that may be thousands, each as its columns: objects of them would take three times the time."""
    left = iter(new)
    while some := list(islice(left, AT_A_TIME)):
        await rows.execute(insert(table.__table__), some)
        await asyncio.sleep(0)


async def flush_in_turns(rows: AsyncSession, number: int) -> None:
    """After the `number`th of many rows that are changed: write those so far, if it is time."""
    if number % AT_A_TIME == 0:
        await rows.flush()
        await asyncio.sleep(0)
