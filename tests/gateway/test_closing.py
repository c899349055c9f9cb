"""How long a gateway that ends waits for a database that another process holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from gateway.database import Database, Setting
from gateway.database.address import BUSY_SECONDS
from gateway.service import Gateway
from gateway.settings import GatewaySettings


async def patience(database: Database) -> float:
    """Seconds that a transaction waits for SQLite."""
    async with database.transaction() as rows:
        connection = await rows.connection()
        return (await connection.exec_driver_sql("PRAGMA busy_timeout")).scalar_one() / 1000


async def test_it_waits_less_the_later_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway(GatewaySettings(data_dir=tmp_path, shutdown_seconds=6.0))
    await gateway.database.open()
    found = [await patience(gateway.database)]

    async def look(_: float) -> None:
        found.append(await patience(gateway.database))

    monkeypatch.setattr(gateway, "_until_no_tickets", look)
    await gateway.close()
    found.append(await patience(gateway.database))
    gateway.database.end_within(60)
    found.append(await patience(gateway.database))
    gateway.database.end_within(0)
    found.append(await patience(gateway.database))
    running, _, ended, still, late = found[1:]
    assert found[0] == BUSY_SECONDS > running > 3 >= ended >= still > late > 0
    await gateway.database.close()


async def test_what_cannot_be_written_in_time_is_given_up(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/voxfleet.db")
    await database.open()
    database.end_within(0)
    with closing(sqlite3.connect(tmp_path / "voxfleet.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="locked"):
            async with database.transaction() as rows:
                rows.add(Setting(key="pages", value={}))
    await database.close()
