"""Which database a data folder belongs to. Files that the database does not name are removed from the folder,
so a gateway that was started with another one, or before it was restored, would remove all of them.

The first gateway gives the database an id, and each keeps it in its folder, too.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import structlog
from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from gateway.database.address import DatabaseError
from gateway.database.connection import Database
from gateway.database.tables import Setting
from gateway.database.transactions import lock
from gateway.files.plain_files import read_file
from gateway.files.whole_files import write_atomically

logger = structlog.get_logger(__name__)

ID_FILE = "database-id"
_KEY = "database-id"
_LOCK = 0x69647321


async def check_belonging(database: Database, folder: Path) -> None:
    """Raise DatabaseError where `folder` is another database's; one that is nobody's becomes this one's."""
    kept = await asyncio.to_thread(_read, folder / ID_FILE)
    try:
        found = await _id_of(database)
        if kept is None and found is None:
            found = await _give_id(database)
    except SQLAlchemyError as error:
        raise DatabaseError(f"the database cannot be used: {getattr(error, 'orig', error)}") from error
    if kept is None:
        await asyncio.to_thread(_keep, folder / ID_FILE, found)
    else:
        _compare(kept, found, folder)


def refuse_foreign(connection: Connection | None, folder: Path) -> None:
    """As `check_belonging`, but nothing is changed. There may be no tables yet; None: no database."""
    if (kept := _read(folder / ID_FILE)) is None:
        return
    has_ids = connection is not None and inspect(connection).has_table(Setting.__tablename__)
    value = connection.scalar(select(Setting.value).where(Setting.key == _KEY)) if has_ids else None
    _compare(kept, None if value is None else value["id"], folder)


def _compare(kept: str, found: str | None, folder: Path) -> None:
    if kept != found:
        raise DatabaseError(
            f"{folder} holds files of another database, and they would be removed. Set database_url to that "
            f"one, or restore it first; to give up these files, remove {folder / ID_FILE}"
        )


async def _id_of(database: Database) -> str | None:
    async with database.transaction() as rows:
        row = await rows.get(Setting, _KEY)
    return None if row is None else row.value["id"]


async def _give_id(database: Database) -> str:
    """The first of several gateways; the others find it."""
    async with database.transaction() as rows:
        await lock(rows, _LOCK)
        row = await rows.get(Setting, _KEY)
        if row is None:
            row = Setting(key=_KEY, value={"id": secrets.token_hex(16)})
            rows.add(row)
        return row.value["id"]


def _read(file: Path) -> str | None:
    try:
        return read_file(file).decode().strip()
    except FileNotFoundError:
        return None


def _keep(file: Path, found: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, found.encode())
    except OSError as error:
        logger.warning("the database of a folder cannot be noted", file=str(file), reason=error.strerror)
