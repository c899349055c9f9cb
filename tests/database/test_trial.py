"""Whether a database can be used is found out without a change to it, on both kinds."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from gateway.database import Database, DatabaseError
from gateway.database.connection import HEAD
from gateway.database.trial import try_database
from tests.database.postgres import PostgresServer


async def tables_of(database: Database) -> set[str]:
    async with database.transaction() as rows:
        connection = await rows.connection()
        return set(await connection.run_sync(lambda found: inspect(found).get_table_names()))


async def set_version(database: Database, version: str) -> None:
    async with database.transaction() as rows:
        await rows.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})


async def test_one_that_a_gateway_uses_can_be_written(database: Database, database_url: str) -> None:
    before = await tables_of(database)
    assert (await try_database(database_url)).endswith(": tables of this version, can be written")
    assert await tables_of(database) == before


async def test_older_tables_are_left_as_they_are(database: Database, database_url: str) -> None:
    await set_version(database, "0009")
    before = await tables_of(database)
    assert f"tables at 0009; the next gateway brings them to {HEAD}" in await try_database(database_url)
    assert await tables_of(database) == before


async def test_newer_tables_are_refused(database: Database, database_url: str) -> None:
    await set_version(database, "9999")
    with pytest.raises(DatabaseError, match=f"its tables are at 9999, and this one knows them up to {HEAD}"):
        await try_database(database_url)


async def test_tables_that_were_restored_in_part_are_refused_by_all(
    database: Database, database_url: str
) -> None:
    async with database.transaction() as rows:
        for table in ("book_blocks", "voices"):
            await rows.execute(text(f"DROP TABLE {table}"))
    told = "not whole, as after a restore that was cut off: it lacks table book_blocks and 1 more"
    with pytest.raises(DatabaseError, match=told):
        await try_database(database_url)
    with pytest.raises(DatabaseError, match=told):
        await Database(database_url).open()


async def test_an_empty_one_stays_empty(postgres: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for url in (postgres.create_database(), f"sqlite:///{tmp_path}/empty.db"):
        for _ in range(2):
            assert "empty; the first gateway makes the tables" in await try_database(url)
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new/voxfleet.db"
    assert "the first gateway makes it" in asyncio.run(try_database(url))
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match="Not a directory"):
        asyncio.run(try_database(f"sqlite:///{tmp_path}/file/voxfleet.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "voxfleet.db").write_text("It was a dark and stormy night." * 99)
    with pytest.raises(DatabaseError, match="file is not a database"):
        await try_database(f"sqlite:///{tmp_path}/voxfleet.db")


async def test_one_that_may_only_be_read_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.create_database()
    database = Database(url)
    await database.open()
    async with database.transaction() as rows:
        name = url.rpartition("/")[2]
        await rows.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    await database.close()
    with pytest.raises(DatabaseError, match="read-only transaction"):
        await try_database(url)


async def test_a_database_that_is_not_there_is_told_of(postgres: PostgresServer) -> None:
    with pytest.raises(DatabaseError, match='database "test_1nowhere" does not exist'):
        await try_database(f"{postgres.create_database().rpartition('/')[0]}/test_1nowhere")


async def test_one_that_another_process_holds_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.database.address.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / "held.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError, match="database is locked"):
            await try_database(f"sqlite:///{tmp_path}/held.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter2secret@127.0.0.1:1/voxfleet",
        "postgresql://user@127.0.0.1:1/voxfleet?password=hunter2secret",
        "postgresql://user:hunter2@secret@127.0.0.1:1/voxfleet",
    ],
)
async def test_no_password_is_told(url: str) -> None:
    for use in (try_database, lambda url: Database(url).open()):
        with pytest.raises(DatabaseError) as refused:
            await use(url)
        assert "secret" not in str(refused.value) and "hunter2" not in str(refused.value)
