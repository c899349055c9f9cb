"""Files that are written before their row: they stay with it, and go when there will be none."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.tending.failures import MISSED_SECONDS, LostFolders, ending_failed, undone_at_failure


async def test_files_stay_when_their_row_is_committed_after_the_caller_was_cancelled(tmp_path: Path) -> None:
    file, began, committed = tmp_path / "file", asyncio.Event(), asyncio.Event()

    async def write() -> None:
        file.touch()
        began.set()
        await committed.wait()

    caller = asyncio.create_task(undone_at_failure(write(), file.unlink))
    await began.wait()
    caller.cancel()
    committed.set()
    await asyncio.wait({caller})
    assert caller.cancelled() and file.exists()


@pytest.mark.parametrize(
    ("failure", "code"),
    [(ApiError(429, "too_many_jobs", "no"), "too_many_jobs"), (OSError(errno.ENOSPC, "full"), "disk_full")],
)
async def test_files_go_when_there_will_be_no_row(tmp_path: Path, failure: Exception, code: str) -> None:
    file = tmp_path / "file"

    async def write() -> None:
        file.touch()
        raise failure

    with pytest.raises(ApiError) as refused:
        await undone_at_failure(write(), file.unlink)
    assert refused.value.code == code and not file.exists()


async def test_a_folder_is_lost_once_it_was_missed_for_minutes(tmp_path: Path) -> None:
    """`jobs/` may be where a disk belongs that is not mounted yet."""
    at = 0.0
    lost, folder = LostFolders(lambda: at), tmp_path / "jobs" / "j_1"
    assert not await lost.has(folder)
    folder.parent.mkdir()
    assert not await lost.has(folder)
    at = MISSED_SECONDS - 1
    assert not await lost.has(folder)
    folder.mkdir()
    assert not await lost.has(folder)
    folder.rmdir()
    at += MISSED_SECONDS
    assert not await lost.has(folder), "it was there meanwhile"
    at += MISSED_SECONDS
    assert await lost.has(folder)


async def test_a_folder_that_cannot_be_looked_at_is_not_lost(tmp_path: Path) -> None:
    folder = tmp_path / "j_1"
    folder.symlink_to(folder)
    with pytest.raises(OSError, match="symbolic links"):
        await LostFolders(lambda: 0.0).has(folder)
    with pytest.raises(OSError, match=r"symbolic links|Input/output"):
        async with ending_failed("j_1", folder, failed_for_good):
            raise OSError(errno.EIO, "Input/output error")


async def failed_for_good(error: ApiError) -> None:
    raise AssertionError(f"it may be over soon: {error.code}")
