"""What transactions need that read, decide and then write."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

Result = TypeVar("Result")


async def to_its_end(change: Coroutine[Any, Any, Result]) -> Result:
    """A transaction, whole also when its caller is cancelled: broken off, it may keep SQLite's lock."""
    task = asyncio.create_task(change)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


async def lock(rows: AsyncSession, key: int) -> None:
    """Nobody else who locks `key`, in this gateway or another, writes until the transaction ends."""
    connection = await rows.connection()
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
