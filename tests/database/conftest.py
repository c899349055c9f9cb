"""Every test of this folder runs on SQLite and on a PostgreSQL server of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateway.database import Database
from tests.database.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole run."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/voxfleet.db"
    return request.getfixturevalue("postgres").create_database()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """Open, with its tables."""
    opened = Database(database_url)
    await opened.open()
    yield opened
    await opened.close()
