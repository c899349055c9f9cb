"""Files that rows use: there as long as a row names them, and no longer."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.used_files import UsedFiles

CONTENT, SHA = b"RIFF", "a" * 64


class Table:
    """Hashes of rows."""

    def __init__(self, folder: Path) -> None:
        self.rows: list[str] = []
        self.store = ContentFiles(folder, ".wav")
        self.forgotten: list[str] = []
        self.files = UsedFiles(self.store, "the audio", self._uses, self._forget)

    async def _uses(self, sha256: str) -> bool:
        return sha256 in self.rows

    async def _forget(self, sha256: str) -> None:
        self.forgotten.append(sha256)

    async def add(self, refusal: ApiError | None = None) -> None:
        async with self.files.keeping(CONTENT, SHA):
            if refusal is not None:
                raise refusal
            self.rows.append(SHA)

    async def remove(self) -> str | None:
        self.rows.remove(SHA)
        return None if SHA in self.rows else SHA

    @property
    def is_there(self) -> bool:
        return self.store.path(SHA).exists()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


async def test_a_file_goes_with_the_last_of_its_rows(table: Table) -> None:
    await table.add()
    await table.add()
    await table.files.let_go(table.remove())
    assert table.is_there and not table.forgotten
    await table.files.let_go(table.remove())
    assert not table.is_there and table.forgotten == [SHA]


async def test_a_row_that_is_refused_leaves_no_file_but_that_of_another(table: Table) -> None:
    refusal = ApiError(409, "name_taken", "no")
    with pytest.raises(ApiError):
        await table.add(refusal)
    assert not table.is_there
    await table.add()
    with pytest.raises(ApiError):
        await table.add(refusal)
    assert table.is_there


async def test_another_gateway_deletes_no_file_that_is_used_again(table: Table, tmp_path: Path) -> None:
    other = Table(tmp_path)
    other.rows = table.rows
    await table.add()

    async def and_it_comes_again() -> str | None:
        unused = await table.remove()
        await other.add()
        return unused

    await table.files.let_go(and_it_comes_again())
    assert table.rows == [SHA] and table.is_there and not table.forgotten
    assert table.store.size_bytes == len(CONTENT)


async def test_a_file_that_another_gateway_deletes_while_its_row_is_added_is_there_again(
    table: Table, tmp_path: Path
) -> None:
    other = Table(tmp_path)
    other.rows = table.rows
    await table.add()
    async with other.files.keeping(CONTENT, SHA):
        await table.files.let_go(table.remove())
        assert not table.is_there
        other.rows.append(SHA)
    assert table.is_there


async def test_a_file_that_comes_again_while_its_last_row_goes_is_kept(table: Table) -> None:
    await table.add()
    looked, goes_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> str | None:
        unused = await table.remove()
        looked.set()
        await goes_on.wait()
        return unused

    going = asyncio.create_task(table.files.let_go(slowly()))
    await looked.wait()
    coming = asyncio.create_task(table.add())
    await asyncio.sleep(0)
    goes_on.set()
    await asyncio.gather(going, coming)
    assert table.rows == [SHA] and table.is_there


@pytest.mark.parametrize("damage", [b"", b"RIFX", None], ids=["cut", "other", "pipe"])
async def test_a_damaged_file_is_whole_again_when_its_content_comes_again(
    damage: bytes | None, table: Table
) -> None:
    await table.add()
    path = table.store.path(SHA)
    if damage is None:
        path.unlink()
        os.mkfifo(path)
    else:
        path.write_bytes(damage)
    await table.add()
    assert path.read_bytes() == CONTENT


async def test_what_a_killed_gateway_left_is_removed(table: Table) -> None:
    await table.store.save(CONTENT, SHA)
    await table.files.remove_leftovers()
    assert table.is_there, "its row may be on its way"
    long_ago = time.time() - 7200
    os.utime(table.store.path(SHA), (long_ago, long_ago))
    table.rows.append(SHA)
    await table.files.remove_leftovers()
    assert table.is_there
    table.rows.clear()
    await table.files.remove_leftovers()
    assert not table.is_there
