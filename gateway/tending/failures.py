"""What fails at the work on a row, and what clients hear of it."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.database import DatabaseError
from gateway.errors import ApiError, disk_full, internal_error
from gateway.files.disk import FULL, not_stored
from gateway.finishing import to_its_end

logger = structlog.get_logger(__name__)

MISSED_SECONDS = 300.0
"""For so long a folder is missed before its row ends for it."""


class OfAnotherBuild(Exception):
    """A gateway of another build began it, with what this one does not know: it is for such a gateway."""


class LostFolders:
    """Which folders of rows are gone for good: those that are missed for minutes, while that of all is there.

    That may be where a disk belongs that is not mounted yet, and then all are missed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._missed_since: dict[Path, float] = {}

    async def has(self, folder: Path) -> bool:
        """Whether it is gone for good. Raises OSError for what cannot be known."""
        if not await asyncio.to_thread(_is_missed, folder):
            self._missed_since.pop(folder, None)
            return False
        now = self._clock()
        if now - self._missed_since.setdefault(folder, now) < MISSED_SECONDS:
            return False
        del self._missed_since[folder]
        return True


def _is_missed(folder: Path) -> bool:
    return _is_there(folder.parent) and not _is_there(folder)


def _is_there(folder: Path) -> bool:
    """Raises OSError where it cannot be known, unlike `Path.is_dir`."""
    try:
        return stat.S_ISDIR(os.stat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def files_lost() -> ApiError:
    """What ends a row without a folder, as a backup may have it whose files were copied later."""
    return ApiError(410, "files_lost", "its files are gone")


@asynccontextmanager
async def ending_failed(
    id: str, folder: Path, fail: Callable[[ApiError], Awaitable[None]]
) -> AsyncIterator[None]:
    """Work in `folder`; what ends it for good is handed to `fail`.

    Nothing is done where the folder was removed meanwhile. Raises DatabaseError, SQLAlchemyError and OSError:
    what may be over soon, and OfAnotherBuild.
    """
    try:
        yield
    except ApiError as error:
        await fail(error)
    except (DatabaseError, SQLAlchemyError, OfAnotherBuild):
        raise
    except OSError as error:
        if not await asyncio.to_thread(_is_there, folder):
            return
        if error.errno not in FULL:
            raise
        await fail(disk_full())
    except Exception:
        logger.exception("unhandled error", id=id)
        await fail(internal_error())


async def undone_at_failure(writing: Coroutine[Any, Any, None], undo: Callable[[], None]) -> None:
    """Write files, and then the row that tells of them; `undo` may block.

    Goes to its end also when its caller is cancelled: the row may be there already. Raises ApiError 507 where
    the disk is full, or fails.
    """
    await to_its_end(_undone_at_failure(writing, undo))


async def _undone_at_failure(writing: Coroutine[Any, Any, None], undo: Callable[[], None]) -> None:
    try:
        await writing
    except OSError as error:
        await asyncio.to_thread(undo)
        raise not_stored(error) from error
    except BaseException:
        await asyncio.to_thread(undo)
        raise


def wrong_state(kind: str, done: str, which: str) -> ApiError:
    """kind: "job" or "training"."""
    return ApiError(409, f"{kind}_state", f"only {which} can be {done}", param="id")
