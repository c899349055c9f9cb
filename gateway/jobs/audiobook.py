"""Files in the format m4b. Such a file begins with a table of all that follows: it is made whole, and kept.

A player finds chapters and any moment by that table. One file is kept in a folder, and goes with it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import structlog

from gateway.files.disk import Disk
from gateway.finishing import to_its_end
from gateway.jobs.result import ResultFormat
from gateway.sessions.storage.files import folder_bytes

logger = structlog.get_logger(__name__)

FORMAT = "m4b"
_LEFT_BEHIND_SECONDS = 3600.0
"""After that, what is half made is nobody's work any more."""

Make = Callable[[Path], Iterator[bytes]]
"""Makes a file at a path, a step each time that it is asked. Blocks. Raises OSError."""
Kept = Callable[[int], Awaitable[object]]
"""Is told how much disk space the folder takes with the file."""


class Audiobooks:
    """Makes them, each once, however many ask for it."""

    def __init__(self, disk: Disk, turns: asyncio.Semaphore) -> None:
        """`turns`: for a few seconds of audio at a time."""
        self._disk = disk
        self._turns = turns
        self._making: dict[Path, asyncio.Task[None]] = {}

    async def get(
        self, folder: Path, wanted: ResultFormat, make: Make, kept: Kept, content: str = ""
    ) -> Path:
        """The file in `folder`, made now if it is not there.

        `content`: tells files apart that have different audio. Raises OSError: FileNotFoundError where the
        folder goes meanwhile.
        """
        name = "-".join(["book", str(wanted.sample_rate or 0), str(wanted.bit_rate or 0), *content.split()])
        path = folder / f"{name}.{FORMAT}"
        if not await asyncio.to_thread(path.is_file):
            if path not in self._making:
                task = self._making[path] = asyncio.create_task(self._make(path, make, kept))
                task.add_done_callback(lambda done: self._made(path, done))
            await _done(self._making[path])
        return path

    async def drop(self, folder: Path | None = None) -> None:
        """Leave what is half made, in `folder` or anywhere."""
        tasks = {task for path, task in self._making.items() if folder in (None, path.parent)}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _made(self, path: Path, task: asyncio.Task[None]) -> None:
        del self._making[path]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("an audiobook was not made", id=path.parent.name, reason=type(error).__name__)

    async def _make(self, path: Path, make: Make, kept: Kept) -> None:
        half = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        pieces = self._pieces(half, make)
        try:
            while True:
                async with self._turns:
                    if await to_its_end(asyncio.to_thread(next, pieces, None)) is None:
                        break
            size_bytes = await asyncio.to_thread(_keep, half, path)
        finally:
            await to_its_end(asyncio.to_thread(_drop, pieces, half))
        await kept(size_bytes)

    def _pieces(self, half: Path, make: Make) -> Iterator[bytes]:
        for left in half.parent.glob(f"*.{FORMAT}.*"):
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                left.unlink(missing_ok=True)
        for piece in make(half):
            self._disk.check()
            yield piece


async def _done(task: asyncio.Task[None]) -> None:
    """Who waits may leave, and ask again. Raises FileNotFoundError when the folder goes meanwhile."""
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise FileNotFoundError("the folder is gone") from None
        raise


def _keep(half: Path, path: Path) -> int:
    """Put it in its place, instead of any other; how much disk space the folder takes then."""
    half.replace(path)
    for other in path.parent.glob(f"*.{FORMAT}"):
        if other != path:
            other.unlink(missing_ok=True)
    return folder_bytes(path.parent)


def _drop(pieces: Iterator[bytes], half: Path) -> None:
    pieces.close()
    half.unlink(missing_ok=True)
