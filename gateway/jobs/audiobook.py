"""Jobs in the format m4b. Such a file begins with a table of all that follows, so it is made whole, and kept.

A player finds chapters and any moment by that table. One file is kept of a job; it counts as the job's, and
goes with it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import structlog

from gateway.database import Job
from gateway.database.transactions import to_its_end
from gateway.jobs.files import JobFiles
from gateway.jobs.result import ResultFormat, marks_of, result_pieces
from gateway.jobs.store import JobStore
from gateway.service import Gateway
from gateway.sessions.files import folder_bytes

logger = structlog.get_logger(__name__)

FORMAT = "m4b"
_LEFT_BEHIND_SECONDS = 3600.0
"""After that, what is half made is nobody's work any more."""


class Audiobooks:
    """Makes them, each once, however many ask for it."""

    def __init__(self, gateway: Gateway, store: JobStore, turns: asyncio.Semaphore) -> None:
        """`turns`: for a few seconds of audio at a time."""
        self._gateway = gateway
        self._store = store
        self._turns = turns
        self._making: dict[Path, asyncio.Task[None]] = {}

    async def get(self, job: Job, files: JobFiles, wanted: ResultFormat) -> Path:
        """The file of a job that is complete, made now if it is not there.

        Raises OSError: FileNotFoundError where the job goes meanwhile.
        """
        path = files.folder / f"book-{wanted.sample_rate or 0}-{wanted.bit_rate or 0}.{FORMAT}"
        if not await asyncio.to_thread(path.is_file):
            if path not in self._making:
                task = self._making[path] = asyncio.create_task(self._make(job, files, wanted, path))
                task.add_done_callback(lambda done: self._made(path, done))
            await _done(self._making[path])
        return path

    async def drop(self, folder: Path | None = None) -> None:
        """Leave what is half made, of the job in `folder` or of all."""
        tasks = {task for path, task in self._making.items() if folder in (None, path.parent)}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _made(self, path: Path, task: asyncio.Task[None]) -> None:
        del self._making[path]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("an audiobook was not made", job_id=path.parent.name, reason=type(error).__name__)

    async def _make(self, job: Job, files: JobFiles, wanted: ResultFormat, path: Path) -> None:
        half = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        pieces = self._pieces(job, files, wanted, half)
        try:
            while True:
                async with self._turns:
                    if await to_its_end(asyncio.to_thread(next, pieces, None)) is None:
                        break
            size_bytes = await asyncio.to_thread(_keep, half, path)
        finally:
            await to_its_end(asyncio.to_thread(_drop, pieces, half))
        await self._store.change(job.id, ("complete",), size_bytes=size_bytes)

    def _pieces(self, job: Job, files: JobFiles, wanted: ResultFormat, half: Path) -> Iterator[bytes]:
        for left in files.folder.glob(f"*.{FORMAT}.*"):
            if time.time() - left.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                left.unlink(missing_ok=True)
        marks = marks_of(files, job.sample_rate)
        made = result_pieces(
            files.audio, job.audio_bytes, job.sample_rate, wanted, marks,
            noted=self._gateway.settings.provenance_note, target=half, title=job.title,
        )  # fmt: skip
        for piece in made:
            self._gateway.disk.check()
            yield piece


async def _done(task: asyncio.Task[None]) -> None:
    """Who waits may leave, and ask again. Raises FileNotFoundError when the job goes meanwhile."""
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise FileNotFoundError("the job is gone") from None
        raise


def _keep(half: Path, path: Path) -> int:
    """Put it in its place, instead of any other; how much disk space the job takes then."""
    half.replace(path)
    for other in path.parent.glob(f"*.{FORMAT}"):
        if other != path:
            other.unlink(missing_ok=True)
    return folder_bytes(path.parent)


def _drop(pieces: Iterator[bytes], half: Path) -> None:
    pieces.close()
    half.unlink(missing_ok=True)
