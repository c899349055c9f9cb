"""The jobs of one gateway: which it works on, who may have how many, and when they go.

`tending.py` says which gateway works on which.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from gateway.database import DatabaseError, Job
from gateway.database.repeats import NOT_ASKED, Asked
from gateway.errors import ApiError
from gateway.jobs import audiobook
from gateway.jobs.audiobook import Audiobooks
from gateway.jobs.book_voice import BookVoices
from gateway.jobs.files import JobFiles, new_job_id
from gateway.jobs.request import JobRequest
from gateway.jobs.result import ResultFormat, marks_of, result_pieces, samples_of
from gateway.jobs.runner import JobGone, JobRunner
from gateway.jobs.shelf import Shelf
from gateway.jobs.store import JobStore
from gateway.jobs.sweep import sweep
from gateway.service import Gateway
from gateway.sessions.recording import title_of
from gateway.tending.failures import LostFolders, ending_failed, files_lost, undone_at_failure, wrong_state
from gateway.tending.rows import OPEN
from gateway.tending.tending import Tending

logger = structlog.get_logger(__name__)

_ENCODERS = 2


class Jobs:
    """Made with the application; `running()` brackets its work, inside that of the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        settings = gateway.settings
        self.folder = settings.data_dir.absolute() / "jobs"
        self.store = JobStore(gateway.database, settings.max_jobs, settings.max_jobs_per_owner)
        self.encoders = asyncio.Semaphore(_ENCODERS)
        """Who makes a result waits here for its turn, a few seconds of audio at a time."""
        self.audiobooks = Audiobooks(gateway.disk, self.encoders)
        self.shelf: Shelf | None = None
        """The books whose takes are jobs."""
        self._voices = BookVoices(gateway.pool, self.store, self.files)
        self._gateway = gateway
        self._lost = LostFolders()
        self.tending = Tending[Job, JobFiles](
            self, settings.jobs_at_once, lambda: gateway.closing, gateway.metrics.jobs_running
        )

    # --------------------------------------------------------------------------------------- for their owners

    async def create(self, order: JobRequest, owner: str, asked: Asked = NOT_ASKED) -> Job:
        """A new job, which waits to be worked on. Raises ApiError: 429, 507."""
        job = Job(
            id=new_job_id(),
            owner=owner,
            title=order.title or title_of(order.text),
            voice=order.voice.replace("\0", ""),  # which PostgreSQL cannot hold
            format=order.format,
            timestamps=order.timestamps,
            characters=len(order.text),
        )
        asked.mark(job)
        files = self.files(job.id)

        async def write() -> None:
            await asyncio.to_thread(self._create_files, files, order)
            await self.store.add(job)

        await undone_at_failure(write(), files.remove)
        self.wake()
        return await self.store.get(job.id) or job

    def _create_files(self, files: JobFiles, order: JobRequest) -> None:
        files.create(order.model_dump(mode="json"), order.find_chapters(), self._gateway.disk)

    async def cancel(self, job: Job) -> None:
        """End it; what was spoken is kept. Raises ApiError 409 for one that has ended."""
        if not await self.store.end(job.id, "cancelled"):
            raise wrong_state("job", "cancelled", "one that waits or runs")
        self._gateway.metrics.jobs.labels("cancelled").inc()
        await self._stop(job.id)

    async def resume(self, job: Job) -> None:
        """Go on with one that failed or was cancelled. Raises ApiError 409 for others."""
        if not await self.store.reopen(job.id, ("failed", "cancelled")):
            raise wrong_state("job", "resumed", "one that failed or was cancelled")
        self.wake()

    async def remove(self, job: Job) -> None:
        """End it and forget it, with text and audio."""
        await self.store.remove(job.id)
        await self.clear([job.id])

    async def clear(self, job_ids: Sequence[str]) -> None:
        """Leave jobs whose rows are gone, and remove their files."""
        for job_id in job_ids:
            await self._stop(job_id)
            await asyncio.to_thread(self.files(job_id).remove)

    def wake(self) -> None:
        """There is something new to be worked on."""
        self.tending.wake()

    async def audiobook(self, job: Job, wanted: ResultFormat) -> Path:
        """One that is complete as m4b. Raises OSError: FileNotFoundError where the job goes meanwhile."""
        files = self.files(job.id)

        def make(target: Path) -> Iterator[bytes]:
            pcm = samples_of(files.audio, job.audio_bytes, job.sample_rate)
            return result_pieces(
                pcm, job.audio_bytes // 2, job.sample_rate, wanted, marks_of(files, job.sample_rate),
                noted=self._gateway.settings.provenance_note, target=target, title=job.title,
            )  # fmt: skip

        async def kept(size_bytes: int) -> None:
            await self.store.change(job.id, ("complete",), size_bytes=size_bytes)

        return await self.audiobooks.get(files.folder, wanted, make, kept)

    def files(self, job_id: str) -> JobFiles:
        """Where its text and audio are. Raises ValueError for what is no id."""
        return JobFiles(self.folder, job_id)

    async def _stop(self, job_id: str) -> None:
        await self.tending.stop(job_id)
        await self.audiobooks.drop(self.files(job_id).folder)

    # -------------------------------------------------------------------------------------------- the tasks

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work on jobs for as long as the block lasts; those that are not complete then go on later."""
        try:
            async with self.tending.running():
                yield
        finally:
            await self.audiobooks.drop()

    async def waiting(self) -> Sequence[Job]:
        """See `Work`."""
        return await self.store.open_jobs()

    async def to_lock(self, job: Job) -> JobFiles:
        """See `Work`: a take of a book has no folder before."""
        files = self.files(job.id)
        if job.book_id is not None:
            await asyncio.to_thread(files.make_folder)
        elif await self._lost.has(files.folder):
            await self._fail(job, files_lost())
        return files

    async def begin(self, job: Job, files: JobFiles) -> Job | None:
        """See `Work`."""
        fresh = await self.store.get(job.id)
        if fresh is None:
            await asyncio.to_thread(files.remove)
        elif await self.store.change(job.id, OPEN, state="running"):
            return fresh
        return None

    async def sweep(self) -> None:
        """See `Work`."""
        await sweep(self, self._gateway)

    async def work(self, job: Job, files: JobFiles) -> None:
        """See `Work`."""
        async with ending_failed(job.id, files.folder, lambda error: self._fail(job, error)):
            try:
                if job.book_id is not None and not job.parts:
                    await self._ask_for(job, files)
                async with self._voices.of(job.book_id, files) as voice:
                    await JobRunner(self._gateway, self.store, job, files, voice).run()
            except JobGone:
                logger.info("a job was ended", job_id=job.id)
                return
            self._gateway.metrics.jobs.labels("complete").inc()
            logger.info("a job is complete", job_id=job.id)
            if job.format == audiobook.FORMAT:
                await self._make_audiobook(job.id, files)

    async def _ask_for(self, take: Job, files: JobFiles) -> None:
        """Have it say what its block says now. Raises ApiError, JobGone, DatabaseError."""
        try:
            found = await self.shelf.order_of(take) if self.shelf is not None else None
        except ApiError as error:
            if error.status_code == 503:
                raise DatabaseError(error.message) from error
            raise
        if found is None:
            raise JobGone
        order, said = found
        await asyncio.to_thread(files.ask_for, order.model_dump(mode="json"))
        about = {"voice": order.voice, "characters": len(order.text), "timestamps": order.timestamps}
        if not await self.store.change(take.id, ("running",), said=said, **about):
            raise JobGone

    async def _make_audiobook(self, job_id: str, files: JobFiles) -> None:
        """Before somebody asks for it, which makes it too."""
        order = await asyncio.to_thread(lambda: files.request) or {}
        wanted = ResultFormat(audiobook.FORMAT, order.get("sample_rate"), order.get("bit_rate"))
        if (job := await self.store.get(job_id)) is not None:
            with contextlib.suppress(OSError):  # which is in the log
                await self.audiobook(job, wanted)

    async def _fail(self, job: Job, error: ApiError) -> None:
        if await self.store.end(job.id, "failed", error):
            self._gateway.metrics.jobs.labels("failed").inc()
            self._gateway.operations.log.say("job", job.id, "job_failed", code=error.code)
            logger.warning("a job failed", job_id=job.id, code=error.code)
