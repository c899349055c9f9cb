"""What transactions need that read, decide and then write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database.connection import Database, DatabaseError
from gateway.errors import ApiError

logger = structlog.get_logger(__name__)

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


async def lock(rows: AsyncSession, key: int) -> None:
    """Nobody else who locks `key`, in this gateway or another, writes until the transaction ends."""
    connection = await rows.connection()
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
