"""New databases of SQLite get their tables as they are in the end, and not by one migration after the other.

Those take a gateway 50 ms of a CPU, and tests make hundreds of databases.
"""

from __future__ import annotations

import functools
from pathlib import Path

from sqlalchemy import Connection, create_engine

from gateway.database import connection as database

_migrate = database._upgrade


@functools.cache
def _statements(migrations: Path, head: str) -> list[str]:
    """What makes of an empty database what the migrations make of it."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        _migrate(connection, None)
        dumped = list(connection.connection.driver_connection.iterdump())
    engine.dispose()
    return dumped[1:-1]  # without BEGIN and COMMIT


def prepared() -> list[str]:
    """The statements, read once in a process."""
    return _statements(database.MIGRATIONS, database.HEAD)


def _upgrade(connection: Connection, version: str | None) -> None:
    """In place of the product's, which migrates what is not empty, or PostgreSQL's."""
    if version is not None or connection.dialect.name != "sqlite":
        _migrate(connection, version)
        return
    for statement in prepared():
        connection.exec_driver_sql(statement)


def share() -> None:
    """From now on, in this process and in its forks."""
    database._upgrade = _upgrade
