"""`voxfleet sessions clean`: what the gateway does once a day, by hand, with or without a gateway running."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from gateway.database import Database, DatabaseError
from gateway.sessions.cleanup import Limits, Removed, clean
from gateway.sessions.index import SessionIndex
from gateway.sessions.upkeep import interrupt_dead
from gateway.settings import GatewaySettings, load_settings
from gateway.settings.storage import DATABASE_FILE
from sockets.setting_words import each_problem


class CleanError(Exception):
    """Why sessions could not be cleaned up, for the user."""


def clean_sessions(
    data_dir: Path | None,
    retention_days: float | None,
    max_storage_gb: float | None,
    config: Path | None = None,
    dry_run: bool = False,
    max_owner_gb: float | None = None,
) -> list[Removed]:
    """Remove what exceeds the limits; what was removed, or would be.

    What is None comes from the settings of the gateway; 0 means no limit. Raises CleanError.
    """
    try:
        settings = load_settings(
            config,
            data_dir=data_dir,
            session_retention_days=retention_days,
            session_max_storage_gb=max_storage_gb,
            session_max_owner_gb=max_owner_gb,
        )
    except (ValidationError, ValueError, OSError) as error:
        raise CleanError(f"a setting cannot be used: {_first_line(error)}") from error
    if not settings.data_dir.is_dir():
        raise CleanError(f"there is no folder {settings.data_dir}")
    if settings.database_url is None and not (settings.data_dir / DATABASE_FILE).is_file():
        raise CleanError(f"{settings.data_dir} is no data folder of a gateway: it has no {DATABASE_FILE}")
    try:
        return asyncio.run(_clean(settings, dry_run))
    except (DatabaseError, SQLAlchemyError, OSError) as error:
        raise CleanError(_first_line(error)) from error


async def _clean(settings: GatewaySettings, dry_run: bool) -> list[Removed]:
    folder = settings.data_dir.absolute() / "sessions"
    database = Database(settings.database)
    await database.open()
    try:
        index = SessionIndex(database)
        if not dry_run:
            await interrupt_dead(index, folder)
        return await clean(index, folder, Limits.of(settings), dry_run=dry_run)
    finally:
        await database.close()


def _first_line(error: Exception) -> str:
    """pydantic's messages hold the value, which may be a secret: only what is wrong is shown."""
    if isinstance(error, ValidationError):
        return each_problem(error)[0]
    return str(error).partition("\n")[0]
