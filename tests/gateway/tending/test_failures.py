"""Files that are written before their row: they stay with it, and go when there will be none."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.tending.failures import undone_at_failure


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
