"""The database of one gateway: SQLite in the data folder, or PostgreSQL by URL.

    database = Database("sqlite+aiosqlite:///data/voxfleet.db")
    await database.open()                       # creates or migrates the tables
    async with database.transaction() as rows:  # commits at the end, rolls back on an exception
        rows.add(Voice(...))
    await database.close()

Tables are in `gateway/database/tables/`, their migrations beside it.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from socket import gaierror
from typing import Any

import structlog
from sqlalchemy import Connection, event, text
from sqlalchemy import inspect as inspect_tables
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.pool import NullPool

from gateway.database.address import BUSY_SECONDS, UNUSABLE, Address, DatabaseError
from gateway.database.journal import Journal
from gateway.database.names import fold_names
from gateway.database.present import Present
from gateway.database.reserve import Reserve
from gateway.database.tables import Base

logger = structlog.get_logger(__name__)

HEAD = "0016"
"""The newest migration."""
MIGRATIONS = Path(__file__).with_name("migrations")
_ANSWER_SECONDS = 20
"""How long PostgreSQL may take for a statement: cut off from the network, it does not answer any more."""
_BUSY_PAUSE_SECONDS = 0.01
_LEAST_PATIENCE_SECONDS = 0.1
"""For others who write as usual, when no time is left."""
_MIGRATION_LOCK = 0x766F78  # any number that nobody else locks


class Database:
    """Connections to one database."""

    def __init__(self, url: str) -> None:
        """`url`: as `Address` takes it. Raises DatabaseError."""
        self.present = Present()
        """What time it is for rows that go by their age."""
        self._address = Address(url)
        self._reserve = Reserve(self._address.file) if self._address.file else None
        self._journal = Journal(self._address.file) if self._address.file else None
        self._ends_at = math.inf
        self._under_way: set[asyncio.Timeout] = set()
        """Transactions of PostgreSQL, which may stay silent: those of SQLite wait in a thread."""
        self._engine: AsyncEngine | None = None
        self._sessions: async_sessionmaker[AsyncSession] | None = None

    async def open(self) -> None:
        """Connect, and bring the tables to this version. Raises DatabaseError."""
        patience = {} if self._address.is_sqlite else {"command_timeout": _ANSWER_SECONDS}
        self._engine = create_async_engine(
            self._address.url,
            pool_pre_ping=not self._address.is_sqlite,
            hide_parameters=True,  # of clients: a defect's traceback would have them in the log
            connect_args=self._address.arguments | patience,
        )
        if self._address.is_sqlite:
            event.listen(self._engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(self._engine.sync_engine, "checkout", self._hurry)
        try:
            if file := self._address.file:
                await self._make_room()
                await asyncio.to_thread(_make_file, file)
                await asyncio.to_thread(_begin_journal, file)
            async with self._for_migrations().begin() as connection:
                await connection.run_sync(_migrate)
        except BaseException as error:
            await self.close()
            if not isinstance(error, UNUSABLE):
                raise
            raise DatabaseError(await asyncio.to_thread(self._address.refusal, error)) from error
        await self._keep_room()
        self._sessions = async_sessionmaker(self._engine, expire_on_commit=False)

    def _for_migrations(self) -> AsyncEngine:
        """They may take long, and so may the wait for those of another gateway."""
        if self._address.is_sqlite:
            return self._engine
        return create_async_engine(
            self._address.url, poolclass=NullPool, hide_parameters=True, connect_args=self._address.arguments
        )

    def end_within(self, seconds: float) -> None:
        """The gateway ends: for so long, all transactions wait for PostgreSQL, and new ones for SQLite."""
        self._ends_at = min(self._ends_at, time.monotonic() + seconds)
        for timeout in self._under_way:
            if not timeout.expired():
                timeout.reschedule(self._latest())

    def _hurry(self, connection: Any, *_: object) -> None:
        if self._ends_at < math.inf:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout={min(BUSY_SECONDS, self._left()) * 1000:.0f}")
            cursor.close()

    def _left(self) -> float:
        """Seconds until the gateway has ended."""
        return max(_LEAST_PATIENCE_SECONDS, self._ends_at - time.monotonic())

    def _latest(self) -> float | None:
        """When a transaction has to be over, by the clock of the event loop."""
        return None if self._ends_at == math.inf else asyncio.get_running_loop().time() + self._left()

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Raises TimeoutError."""
        async with asyncio.timeout_at(self._latest()) as timeout:
            self._under_way.add(timeout)
            try:
                yield
            finally:
                self._under_way.discard(timeout)

    async def close(self) -> None:
        """Cut the connections."""
        if self._journal is not None:
            await self._journal.close()
        if self._engine is not None:
            await self._engine.dispose()
        self._engine = self._sessions = None

    @asynccontextmanager
    async def transaction(self, *, erasing: bool = False) -> AsyncIterator[AsyncSession]:
        """Rows to read and write; one commit at the end, none after an exception.

        With `erasing`, what was deleted or overwritten is gone from SQLite's files, too, when the block ends,
        or as soon as nobody reads these any more; there is room for it on a full disk.
        Raises DatabaseError where the database is silent.
        """
        if self._sessions is None:
            raise DatabaseError("the database is not open")
        if erasing:
            await self._make_room()
        try:
            async with (
                nullcontext() if self._address.is_sqlite else self._in_time(),
                self._sessions.begin() as session,
            ):
                yield session
        except (TimeoutError, ConnectionError, gaierror) as error:
            raise DatabaseError("the database does not answer") from error
        if erasing and self._journal is not None:
            await self._journal.empty()
            await self._keep_room()

    async def _make_room(self) -> None:
        if self._reserve is not None:
            await asyncio.to_thread(self._reserve.give)

    async def _keep_room(self) -> None:
        if self._reserve is not None:
            await asyncio.to_thread(self._reserve.keep)


def _make_file(path: Path) -> None:
    """An empty database that no other account of the machine reads: titles and transcripts are in it. SQLite
    gives the files beside it the same mode.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)


def _begin_journal(path: Path) -> None:
    """Have a new database keep a WAL; while another gateway does, SQLite itself would not wait but fail."""
    give_up_at = time.monotonic() + BUSY_SECONDS
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                    raise
                time.sleep(_BUSY_PAUSE_SECONDS)


def _prepare_sqlite(connection: Any, record: object) -> None:
    """Readers beside one writer, foreign keys, zeros over what is deleted, and PostgreSQL's `strpos`."""
    connection.create_function("strpos", 2, _place_of, deterministic=True)
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _place_of(content: str | None, word: str) -> int | None:
    """Where `word` begins, from 1 on; 0: nowhere. LIKE takes as many steps as both are long, multiplied."""
    return None if content is None else content.find(word) + 1


def _migrate(connection: Connection) -> None:
    """Upgrade to the newest version; of several gateways that start at once, one after the other."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    if (version := version_of(connection)) != HEAD:
        _upgrade(connection, version)
    check_whole(connection)
    fold_names(connection)


def version_of(connection: Connection) -> str | None:
    """The migration that the tables are at; None for an empty database."""
    if not inspect_tables(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def check_whole(connection: Connection) -> None:
    """Of tables of this version: raise DatabaseError where some are missing."""
    if missing := sorted(Base.metadata.tables.keys() - set(inspect_tables(connection).get_table_names())):
        message = (
            f"the database is not whole, as after a restore that was cut off: it lacks table {missing[0]}"
        )
        message += f" and {len(missing) - 1} more" if missing[1:] else ""
        raise DatabaseError(f"{message}. Restore it again, into an empty one")


def newer(version: str | None) -> str:
    """What is to be said of tables that this version of VoxFleet does not know."""
    return (
        "the database is of another version of VoxFleet, a newer one as it seems: its tables are at "
        f"{version}, and this one knows them up to {HEAD}"
    )


def _upgrade(connection: Connection, version: str | None) -> None:
    from alembic import command  # a third of the start-up time of a gateway that has nothing to migrate
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        message = f"{newer(version)}. Nothing was changed; start that version, or this one with a copy from "
        message += "before the upgrade"
        raise DatabaseError(message) from error
