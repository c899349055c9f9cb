"""The trainings of one gateway: which there are, who may have how many, and when they go.

`gateway/tending/tending.py` says which gateway works on which.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import structlog

from gateway.database import Training, TrainingRecording
from gateway.database.repeats import NOT_ASKED, Asked
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.service import Gateway
from gateway.sessions.cleanup import Limits, Stored, choose, noticed_ahead
from gateway.slots.admission import why_unservable
from gateway.slots.requirement import Requirement
from gateway.tending.failures import LostFolders, ending_failed, files_lost, undone_at_failure, wrong_state
from gateway.tending.orphans import remove_orphans
from gateway.tending.rows import OPEN
from gateway.tending.tending import Tending
from gateway.training.files import TrainingFiles, is_training_id, new_recording_id, new_training_id
from gateway.training.request import RecordingForm, TrainingRequest, remarks_of
from gateway.training.runner import OUTDATED, TrainingGone, TrainingRunner
from gateway.training.store import COLLECTING, NOTHING_LEARNT, STILL, TrainingBounds, TrainingStore
from gateway.voices.recordings.checks import Checked

logger = structlog.get_logger(__name__)

_ABANDONED = timedelta(days=7)
"""After that, recordings of a training that nobody started go."""


class Trainings:
    """Made with the application; `running()` brackets its work, inside that of the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        settings = gateway.settings
        self.folder = settings.data_dir.absolute() / "trainings"
        self.store = TrainingStore(
            gateway.database,
            TrainingBounds(
                settings.max_trainings,
                settings.max_trainings_per_owner,
                settings.max_training_recordings,
                60 * settings.max_training_minutes,
            ),
        )
        self._gateway = gateway
        self._lost = LostFolders()
        self.tending = Tending[Training, TrainingFiles](
            self, settings.trainings_at_once, lambda: gateway.closing, gateway.metrics.trainings_running
        )

    def files(self, training_id: str) -> TrainingFiles:
        """Where its recordings are. Raises ValueError for what is no id."""
        return TrainingFiles(self.folder, training_id)

    # --------------------------------------------------------------------------------------- for their owners

    def check_on(self) -> None:
        """Raises ApiError 503 where no voices are trained."""
        if not self._gateway.settings.trains:
            message = "this service trains no voices: training_enabled and training_base say whether and what"
            raise ApiError(503, "training_off", message, retry_after_seconds=3600)

    async def create(self, order: TrainingRequest, owner: str, asked: Asked = NOT_ASKED) -> Training:
        """A new training, which waits for recordings. Raises ApiError: 429, 503, 507."""
        self.check_on()
        training = Training(id=new_training_id(), owner=owner, **order.model_dump())
        asked.mark(training)
        files = self.files(training.id)

        async def write() -> None:
            await asyncio.to_thread(files.create, self._gateway.disk)
            await self.store.add(training)

        await undone_at_failure(write(), files.remove)
        return await self.store.get(training.id) or training

    async def add_recording(
        self, training: Training, form: RecordingForm, checked: Checked, asked: Asked = NOT_ASKED
    ) -> TrainingRecording:
        """One more. Raises ApiError: 404, 409 while it is worked on, 413, 422 for the audio, 507."""
        remarks = remarks_of(checked)
        recording = TrainingRecording(
            id=new_recording_id(),
            training_id=training.id,
            name=form.name,
            transcript=form.transcript,
            audio_seconds=checked.recording.seconds,
            checks=[remark.to_dict() for remark in remarks],
        )
        asked.mark(recording)
        files = self.files(training.id)

        async def write() -> None:
            wav = await asyncio.to_thread(checked.recording.wav)
            size_bytes = await asyncio.to_thread(files.add_recording, recording.id, wav, self._gateway.disk)
            await self.store.add_recording(recording, size_bytes)

        await undone_at_failure(write(), lambda: files.remove_recording(recording.id))
        return recording

    async def remove_recording(self, training: Training, recording_id: str) -> None:
        """One less. Raises ApiError: 404, 409 while it is worked on."""
        await self.store.remove_recording(training.id, recording_id)
        files = self.files(training.id)
        await asyncio.to_thread(files.remove_recording, recording_id)
        size_bytes = await asyncio.to_thread(files.size_bytes)
        await self.store.change(training.id, STILL, size_bytes=size_bytes)

    async def start(self, training: Training) -> None:
        """Train, or go on with one that failed or was cancelled. Raises ApiError: 409, 422, 503.

        422 also where workers are there of which none could speak with what is learnt.
        """
        self.check_on()
        problem = why_unservable(self._gateway.pool.workers.values(), Requirement(adapters=True))
        if problem is not None and problem.status_code == 422:
            raise problem
        if not training.recordings:
            raise ApiError(422, "no_recordings", "the training has no recordings: add some", param="id")
        anew = NOTHING_LEARNT if training.error_code == OUTDATED else {}
        if not await self.store.reopen(training.id, STILL, started_at=now(), **anew):
            raise wrong_state("training", "started", "one that waits for recordings, failed or was cancelled")
        self.tending.wake()

    async def cancel(self, training: Training) -> None:
        """End it; what was learnt is kept for a later start. Raises ApiError 409 for one that has ended."""
        if not await self.store.end(training.id, "cancelled"):
            raise wrong_state("training", "cancelled", "one that waits or runs")
        self._gateway.metrics.trainings.labels("cancelled").inc()
        await self.tending.stop(training.id)

    async def remove(self, training_id: str) -> None:
        """End it and forget it, with all recordings. A voice that came of it stays."""
        await self.store.remove(training_id)
        await self.tending.stop(training_id)
        await asyncio.to_thread(self.files(training_id).remove)

    # ---------------------------------------------------------------------------------------------- the tasks

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work on trainings for as long as the block lasts; those that are not complete then go on later."""
        async with self.tending.running():
            yield

    async def waiting(self) -> Sequence[Training]:
        """See `Work`."""
        return await self.store.open_trainings() if self._gateway.settings.trains else []

    async def to_lock(self, training: Training) -> TrainingFiles:
        """See `Work`."""
        files = self.files(training.id)
        if await self._lost.has(files.folder):
            await self._fail(training, files_lost())
        return files

    async def begin(self, training: Training, files: TrainingFiles) -> Training | None:
        """See `Work`."""
        if not await self.store.change(training.id, OPEN, state="running"):
            return None
        return await self.store.get(training.id)

    async def work(self, training: Training, files: TrainingFiles) -> None:
        """See `Work`."""
        async with ending_failed(training.id, files.folder, lambda error: self._fail(training, error)):
            try:
                await TrainingRunner(self._gateway, self.store, training, files).run()
            except TrainingGone:
                logger.info("a training was ended", training=training.id)
                return
            self._gateway.metrics.trainings.labels("complete").inc()
            logger.info("a training is complete", training=training.id)

    async def sweep(self) -> None:
        """See `Work`."""
        rows = await self.store.list(None)
        present = self._gateway.database.present.now()
        stored = [
            Stored(row.id, row.created_at, row.used_at, row.size_bytes, row.state in OPEN, True, row.owner)
            for row in rows
        ]
        stored = await noticed_ahead(self._gateway.database, "training", stored, present)
        gone = {item.session_id: item.reason for item in choose(stored, self._limits, present)}
        unused = {item.session_id for item in stored if item.unused_from < present - _ABANDONED}
        abandoned = [row.id for row in rows if row.state == COLLECTING and row.id in unused]
        gone |= dict.fromkeys(abandoned, "age")
        for training_id, reason in gone.items():
            await self.remove(training_id)
            self._gateway.operations.log.say("training", training_id, "job_removed", reason=reason)
        known = {row.id for row in rows}
        await asyncio.to_thread(
            remove_orphans, self.folder, known, is_training_id, lambda id: self.files(id).remove()
        )

    @property
    def _limits(self) -> Limits:
        return Limits.of(self._gateway.settings)

    async def _fail(self, training: Training, error: ApiError) -> None:
        if await self.store.end(training.id, "failed", error):
            self._gateway.metrics.trainings.labels("failed").inc()
            self._gateway.operations.log.say("training", training.id, "job_failed", code=error.code)
            logger.warning("a training failed", training=training.id, code=error.code)
