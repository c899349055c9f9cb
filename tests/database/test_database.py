"""Tables, migrations and transactions, on both kinds of database."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, select, text
from structlog.testing import capture_logs

from gateway.database import Database, DatabaseError, Setting, journal, transactions
from gateway.database import connection as connection_module
from gateway.database.reserve import RESERVE_BYTES
from gateway.database.tables import Base
from gateway.database.transactions import FAILURES, lock
from tests.database.postgres import PostgresServer


async def test_the_migrations_make_exactly_the_tables(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return compare_metadata(MigrationContext.configure(connection), Base.metadata)

    async with database.transaction() as rows:
        assert await (await rows.connection()).run_sync(differences) == []


def test_the_newest_migration_is_the_one_that_gateways_look_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(connection_module.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [connection_module.HEAD]


async def test_what_was_written_is_there_after_a_restart(database_url: str) -> None:
    for expected in (None, {"on": ["studio"]}):
        database = Database(database_url)
        await database.open()
        async with database.transaction() as rows:
            found = await rows.get(Setting, "pages")
            assert (found and found.value) == expected
            if found is None:
                rows.add(Setting(key="pages", value={"on": ["studio"]}))
        await database.close()


async def test_no_other_account_of_the_machine_reads_the_file(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/data/voxfleet.db")
    await database.open()
    async with database.transaction() as rows:
        rows.add(Setting(key="pages", value={}))
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "data").iterdir()}
    assert modes == dict.fromkeys(
        ["voxfleet.db", *(f"voxfleet.db-{of}" for of in ("wal", "shm", "reserve"))], 0
    )
    await database.close()


async def test_an_exception_undoes_the_transaction(database: Database) -> None:
    with pytest.raises(RuntimeError, match="half way"):
        async with database.transaction() as rows:
            rows.add(Setting(key="eta", value={}))
            await rows.flush()
            raise RuntimeError("half way")
    async with database.transaction() as rows:
        assert (await rows.scalars(select(Setting))).all() == []


async def test_times_keep_their_moment(database: Database) -> None:
    moment = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    async with database.transaction() as rows:
        rows.add(Setting(key="eta", value={}, updated_at=moment))
    async with database.transaction() as rows:
        found = await rows.get(Setting, "eta")
        assert found.updated_at == moment and found.updated_at.tzinfo is UTC


async def test_several_gateways_may_start_at_once(database_url: str) -> None:
    gateways = [Database(database_url) for _ in range(4)]
    await asyncio.gather(*(gateway.open() for gateway in gateways))
    async with gateways[0].transaction() as rows:
        rows.add(Setting(key="eta", value={}))
    async with gateways[3].transaction() as rows:
        assert await rows.get(Setting, "eta") is not None
    for gateway in gateways:
        await gateway.close()


async def test_a_gateway_that_starts_beside_another_one_waits_for_it(tmp_path: Path) -> None:
    """The other one has a new database open and has not begun its journal."""
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        database = Database(f"sqlite:///{tmp_path}/new.db")
        opening = asyncio.create_task(database.open())
        done, _ = await asyncio.wait({opening}, timeout=0.2)
        assert not done
        other.execute("ROLLBACK")
        await opening
        await database.close()


@pytest.mark.parametrize(
    "url", ["", "data/voxfleet.db", "mysql://root@localhost/voxfleet", "sqlite://", "sqlite:///"]
)
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(DatabaseError):
        Database(url)


@pytest.mark.parametrize(
    "parameters", ["sslmode=prefer&application_name=voxfleet", "statement_cache_size=0", "ssl=disable"]
)
async def test_what_addresses_of_postgresql_say_besides_is_understood(
    postgres: PostgresServer, parameters: str
) -> None:
    database = Database(f"{postgres.create_database()}?{parameters}")
    await database.open()
    async with database.transaction() as rows:
        name = (await rows.execute(text("SHOW application_name"))).scalar()
    assert name == ("voxfleet" if "voxfleet" in parameters else "")
    await database.close()


async def test_a_server_without_tls_is_refused_where_tls_is_asked_for(postgres: PostgresServer) -> None:
    database = Database(f"{postgres.create_database()}?sslmode=require")
    with pytest.raises(DatabaseError, match="SSL"):
        await database.open()


async def test_an_unreachable_database_says_why_and_keeps_the_password() -> None:
    database = Database("postgresql://user:hunter2secret@127.0.0.1:1/voxfleet")
    with pytest.raises(DatabaseError) as caught:
        await database.open()
    assert "127.0.0.1" in str(caught.value) and "hunter2secret" not in str(caught.value)


async def test_a_full_disk_is_named_where_sqlite_cannot_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(connection_module, "_begin_journal", fail)
    database = Database(f"sqlite:///{tmp_path}/voxfleet.db")
    for free, is_named in ((0, True), (1 << 30, False)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(DatabaseError, match="disk I/O error") as raised:
            await database.open()
        assert ("disk is full" in str(raised.value)) is is_named


async def test_what_is_deleted_on_a_full_disk_has_a_reserve_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    database, reserve = Database(f"sqlite:///{folder}/voxfleet.db"), folder / "voxfleet.db-reserve"
    with capture_logs() as log:
        await database.open()
    assert log == []
    for free, is_there in ((RESERVE_BYTES, True), (RESERVE_BYTES - 1, False)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        assert reserve.stat().st_size == RESERVE_BYTES
        async with database.transaction() as rows:
            rows.add(Setting(key=f"free {free}", value={}))
            assert reserve.exists()
        async with database.transaction(erasing=True) as rows:
            await rows.delete(await rows.get_one(Setting, f"free {free}"))
            assert reserve.exists() is is_there
    assert not reserve.exists()  # where nothing became free
    monkeypatch.undo()
    async with database.transaction(erasing=True):
        assert not reserve.exists()
    assert reserve.stat().st_size == RESERVE_BYTES
    await database.close()


async def test_what_is_deleted_beside_a_reader_leaves_the_files_when_that_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody who writes is kept waiting for it."""
    monkeypatch.setattr(journal, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(journal, "_AGAIN_SECONDS", 0.01)
    database = Database(f"sqlite:///{tmp_path}/voxfleet.db")
    await database.open()
    async with database.transaction() as rows:
        rows.add(Setting(key="words that nobody else may read", value={}))
    with closing(sqlite3.connect(tmp_path / "voxfleet.db")) as backup, capture_logs() as log:
        backup.execute("BEGIN")
        backup.execute("SELECT key FROM settings").fetchall()
        for _ in range(2):
            async with database.transaction(erasing=True) as rows:
                await rows.execute(delete(Setting))
        assert b"nobody else" in (tmp_path / "voxfleet.db-wal").read_bytes()
        assert [line["reason"] for line in log] == ["somebody reads it"]
        backup.rollback()
        async with asyncio.timeout(30):
            while len(log) < 2:  # noqa: ASYNC110 - what is waited for is a file
                await asyncio.sleep(0.01)
    for name in ("voxfleet.db", "voxfleet.db-wal"):
        assert b"nobody else" not in (tmp_path / name).read_bytes()
    await database.close()


async def test_a_reserve_that_cannot_be_kept_hinders_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    database = Database(f"sqlite:///{tmp_path}/voxfleet.db")
    await database.open()
    async with database.transaction(erasing=True) as rows:
        rows.add(Setting(key="pages", value={}))
    await database.close()
    assert not (tmp_path / "voxfleet.db-reserve").exists()


async def test_postgresql_that_answers_no_more_is_given_up(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "_ANSWER_SECONDS", 0.5)
    database = Database(postgres.create_database())
    await database.open()
    async with asyncio.timeout(30):
        with pytest.raises(DatabaseError, match="does not answer"):
            async with database.transaction() as rows:
                await rows.execute(text("SELECT pg_sleep(60)"))
        async with database.transaction() as rows:
            assert (await rows.scalars(select(Setting))).all() == []
    await database.close()


async def test_a_gateway_that_stands_still_keeps_no_other_from_writing(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its machine is paused, or cut off: PostgreSQL would hold its lock for hours."""
    monkeypatch.setattr(transactions, "_STANDSTILL_SECONDS", 0.1)
    url, key = postgres.create_database(), 7
    here, there = Database(url), Database(url)
    await here.open()
    await there.open()
    async with asyncio.timeout(15):
        with pytest.raises(FAILURES):
            async with there.transaction() as rows:
                await lock(rows, key)
                async with here.transaction() as others:
                    await lock(others, key)
                    others.add(Setting(key="pages", value={}))
                rows.add(Setting(key="never", value={}))
    async with there.transaction() as rows:
        assert [row.key for row in await rows.scalars(select(Setting))] == ["pages"]
    await here.close()
    await there.close()


async def test_who_ends_waits_no_longer_for_a_silent_postgresql(postgres: PostgresServer) -> None:
    database, asks = Database(postgres.create_database()), asyncio.Event()
    await database.open()

    async def ask() -> None:
        async with database.transaction() as rows:
            await rows.execute(text("SELECT 1"))
            asks.set()
            await rows.execute(text("SELECT pg_sleep(15)"))

    under_way = asyncio.create_task(ask())
    await asks.wait()
    for _ in range(2):
        database.end_within(0)
        await asyncio.wait({under_way}, timeout=0.2)
    for asking in (under_way, ask()):
        with pytest.raises(DatabaseError, match="does not answer"):
            await asking
    await database.close()


async def test_a_database_of_a_later_version_is_left_alone(database_url: str) -> None:
    database = Database(database_url)
    await database.open()
    async with database.transaction() as rows:
        await rows.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    await database.close()
    with pytest.raises(DatabaseError, match=r"newer one.* at 9999.* up to 00.*Nothing was changed"):
        await database.open()
