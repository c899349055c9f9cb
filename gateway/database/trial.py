"""Whether a gateway could use the database. Nothing is created or changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryFile

from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from gateway.database.address import BUSY_SECONDS, UNUSABLE, Address, DatabaseError
from gateway.database.belonging import refuse_foreign
from gateway.database.connection import HEAD, MIGRATIONS, check_whole, newer, version_of

_IN_USE = "UPDATE alembic_version SET version_num = version_num"
_EMPTY = "CREATE TABLE voxfleet_trial (number INTEGER)"


async def try_database(url: str, folder: Path | None = None) -> str:
    """What there is at `url`, where a gateway, with this data folder, can use it. Raises DatabaseError."""
    address = Address(url)
    try:
        found = await _try(address, folder)
    except UNUSABLE as error:
        raise DatabaseError(await asyncio.to_thread(address.refusal, error)) from error
    return f"{address}: {found}"


async def _try(address: Address, folder: Path | None) -> str:
    if address.file is not None and not address.file.exists():
        await asyncio.to_thread(_write_beside, address.file)
        if folder is not None:
            await asyncio.to_thread(refuse_foreign, None, folder)
        return "not there yet; the first gateway makes it"
    patience = {} if address.is_sqlite else {"command_timeout": BUSY_SECONDS}
    engine = create_async_engine(address.url, poolclass=NullPool, connect_args=address.arguments | patience)
    async with engine.connect() as connection:
        try:
            found = await connection.run_sync(_write)
            if folder is not None:
                await connection.run_sync(refuse_foreign, folder)
            return found
        finally:
            await connection.rollback()


def _write_beside(file: Path) -> None:
    """Where the folder is not there yet, in the one that it is made in."""
    with TemporaryFile(dir=next(folder for folder in file.absolute().parents if folder.exists())):
        return


def _write(connection: Connection) -> str:
    """Leaves it to its caller to undo that."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    version = version_of(connection)
    known = {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("*.py")}
    if version is not None and version not in known:
        raise DatabaseError(newer(version))
    if version != HEAD:
        connection.execute(text(_EMPTY))
    if version is not None:
        connection.execute(text(_IN_USE))
    if version is None:
        return "empty; the first gateway makes the tables"
    if version != HEAD:
        return f"tables at {version}; the next gateway brings them to {HEAD}"
    check_whole(connection)
    return "tables of this version, can be written"
