"""A database of tests is what the migrations make of an empty file, to the last statement."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.database import connection as connection_module
from gateway.database.connection import Database
from tests import empty_databases


async def dumped(file: Path) -> list[str]:
    database = Database(f"sqlite:///{file}")
    await database.open()
    await database.close()
    with closing(sqlite3.connect(file)) as connection:
        return sorted(connection.iterdump())


async def test_it_is_as_the_migrations_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrated: list[str | None] = []

    def migrate(connection: object, version: str | None) -> None:
        migrated.append(version)
        empty_databases._migrate(connection, version)

    empty_databases.prepared()
    monkeypatch.setattr(connection_module, "_upgrade", empty_databases._upgrade)
    short = await dumped(tmp_path / "short.db")
    monkeypatch.setattr(connection_module, "_upgrade", migrate)
    assert short == await dumped(tmp_path / "migrated.db")
    assert migrated == [None] and len(short) > 50
