"""A data folder belongs to one database: with another, all its files would be nobody's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.database import Database, DatabaseError
from gateway.database.belonging import check_belonging
from gateway.database.trial import try_database


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(f"sqlite:///{tmp_path}/other/voxfleet.db")
    await opened.open()
    yield opened
    await opened.close()


async def test_a_folder_stays_its_databases(
    database: Database, database_url: str, other: Database, tmp_path: Path
) -> None:
    (tmp_path / "empty.db").touch()
    for folder in (tmp_path / "files", tmp_path / "files", tmp_path / "moved"):
        await check_belonging(database, folder)
    with pytest.raises(DatabaseError, match="files of another database"):
        await check_belonging(other, tmp_path / "files")
    await check_belonging(other, tmp_path / "others")
    for theirs, folder in ((other, "moved"), (database, "others")):
        with pytest.raises(DatabaseError, match=f"remove {tmp_path}/{folder}/database-id"):
            await check_belonging(theirs, tmp_path / folder)
    assert await try_database(database_url, tmp_path / "files")
    for name in ("other/voxfleet.db", "empty.db", "none.db"):
        with pytest.raises(DatabaseError, match="files of another database"):
            await try_database(f"sqlite:///{tmp_path}/{name}", tmp_path / "files")
    (tmp_path / "files" / "database-id").unlink()
    await check_belonging(other, tmp_path / "files")


async def test_gateways_that_start_at_once_agree(database: Database, tmp_path: Path) -> None:
    folders = [tmp_path / f"gateway-{number}" for number in range(4)]
    await asyncio.gather(*(check_belonging(database, folder) for folder in folders))
    assert len({(folder / "database-id").read_text() for folder in folders}) == 1
