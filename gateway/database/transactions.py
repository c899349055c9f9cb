"""What transactions need that read, decide and then write."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.connection import Database, DatabaseError
from gateway.errors import ApiError

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")
FAILURES = (DatabaseError, SQLAlchemyError, OSError)
"""What a transaction raises when the database is at fault."""


@asynccontextmanager
async def answered(
    database: Database, kept: str, code: str, *, erasing: bool = False
) -> AsyncIterator[AsyncSession]:
    """`Database.transaction` for a client. Raises ApiError 503 `code`: what is `kept` cannot be reached."""
    try:
        async with database.transaction(erasing=erasing) as rows:
            yield rows
    except FAILURES as error:
        logger.error("the database failed", kept=kept, error=type(error).__name__)
        message = f"{kept} cannot be reached at the moment"
        raise ApiError(503, code, message, retry_after_seconds=5) from error


async def to_its_end(change: Coroutine[Any, Any, Result]) -> Result:
    """Work that is whole, and waited for, also when its caller is cancelled, however often.

    A transaction that is broken off may keep SQLite's lock.
    """
    task = asyncio.create_task(change)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        ended = asyncio.gather(task, return_exceptions=True)
        while not ended.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({ended})
        raise


async def lock(rows: AsyncSession, key: int) -> None:
    """Nobody else who locks `key`, in this gateway or another, writes until the transaction ends."""
    connection = await rows.connection()
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
