"""Where the database is, and how its driver is told: a SQLite file, or PostgreSQL by URL."""

from __future__ import annotations

import inspect
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

BUSY_SECONDS = 10
"""How long SQLite waits for another process, and a connection for PostgreSQL."""
UNUSABLE = (SQLAlchemyError, sqlite3.Error, OSError)
"""What is raised where the database cannot be used."""
_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}
_LEAST_ROOM_BYTES = 1 << 20
_NO_FILE = (":memory:", "file:")


class DatabaseError(RuntimeError):
    """The database cannot be used; the message says why and names no secret."""


class Address:
    """`url` for SQLAlchemy, with the `arguments` that it does not hand over by itself."""

    def __init__(self, url: str) -> None:
        """`url`: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME. Raises DatabaseError."""
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError):
            raise DatabaseError("not the URL of a database") from None
        backend = parsed.get_backend_name()
        if backend not in _DRIVERS:
            raise DatabaseError(f"no such kind of database: {backend}; sqlite and postgresql are known")
        if "@" in (parsed.host or ""):
            raise DatabaseError("an @ of the user's name or password is written %40 in the URL")
        self.is_sqlite = backend == "sqlite"
        if self.is_sqlite and not parsed.database:
            raise DatabaseError("sqlite:// names no file: as sqlite:///PATH, nothing would be kept otherwise")
        self.url = parsed.set(drivername=_DRIVERS[backend])
        self.arguments: dict[str, Any] = {"timeout": BUSY_SECONDS}
        if not self.is_sqlite:
            self.url, given = _for_asyncpg(self.url)
            self.arguments |= given

    @property
    def file(self) -> Path | None:
        """That of SQLite, if there is one."""
        name = self.url.database if self.is_sqlite else None
        return None if not name or name.startswith(_NO_FILE) else Path(name)

    def __str__(self) -> str:
        """For people: without the password, which may stand among the parameters, too."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    def refusal(self, error: BaseException) -> str:
        """Why the database cannot be used, one of `UNUSABLE`; looks at the disk."""
        reason = getattr(error, "orig", None) or error
        message = f"cannot use {self}: {type(reason).__name__}: {reason}"
        if self._is_without_room():
            message += ". Its disk is full: make room for it, at least a MB"
        return message

    def _is_without_room(self) -> bool:
        """Whether SQLite, which says "disk I/O error", lacks room for its files beside the database's."""
        try:
            return self.file is not None and shutil.disk_usage(self.file.parent).free < _LEAST_ROOM_BYTES
        except OSError:
            return False


def _for_asyncpg(url: URL) -> tuple[URL, dict[str, Any]]:
    """The URL without parameters that SQLAlchemy does not hand over as asyncpg wants them, and these: numbers
    such as `statement_cache_size`, and what libpq has, such as `sslmode`.
    """
    import asyncpg  # not for SQLite

    known = inspect.signature(asyncpg.connect).parameters
    arguments: dict[str, Any] = {}
    libpq = {}
    for name, value in url.query.items():
        if name not in known and not name.startswith("prepared_statement_"):
            libpq[name] = value
        elif name in known and isinstance(known[name].default, int) and str(value).isdecimal():
            arguments[name] = int(value)
    rest = url.difference_update_query([*libpq, *arguments])
    return rest, arguments | ({"dsn": f"postgresql://?{urlencode(libpq, doseq=True)}"} if libpq else {})
