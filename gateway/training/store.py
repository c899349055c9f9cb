"""The rows of trainings and of their recordings.

Everything raises DatabaseError or SQLAlchemyError. What writes is whole also when its caller is cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, Training, TrainingRecording
from gateway.database.tables import now
from gateway.database.transactions import lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end
from gateway.tending.rows import OPEN, Room, TendedRows

COLLECTING = "collecting"
STILL = (COLLECTING, "failed", "cancelled")
"""States in which recordings may come and go, and it may be started."""
NOTHING_LEARNT: dict[str, Any] = {"progress": {}, "adapter_id": None, "voice_id": None}
"""Columns of one of which the folder holds nothing that is of use."""
_LOCK = 0x74726169


@dataclass(frozen=True)
class TrainingBounds:
    """How many there may be."""

    trainings: int
    per_owner: int
    recordings: int
    """Recordings of one training."""
    seconds: float
    """Seconds of all its recordings."""


class TrainingStore(TendedRows[Training]):
    """Reads and writes the tables."""

    def __init__(self, database: Database, bounds: TrainingBounds) -> None:
        super().__init__(database, Training, Room("trainings", _LOCK, bounds.trainings, bounds.per_owner))
        self._bounds = bounds

    async def list(self, owner: str | None) -> list[Training]:
        """The newest first; everybody's when `owner` is None."""
        statement = select(Training).order_by(Training.created_at.desc(), Training.id)
        if owner is not None:
            statement = statement.where(Training.owner == owner)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def open_trainings(self) -> list[Training]:
        """The trainings that are to be worked on, the oldest first."""
        order = (Training.started_at, Training.id)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(select(Training).where(Training.state.in_(OPEN)).order_by(*order)))

    async def recordings(self, training_id: str) -> list[TrainingRecording]:
        """In the order in which they came."""
        statement = select(TrainingRecording).where(TrainingRecording.training_id == training_id)
        async with self._database.transaction() as rows:
            order = (TrainingRecording.created_at, TrainingRecording.id)
            return list(await rows.scalars(statement.order_by(*order)))

    async def add_recording(self, recording: TrainingRecording, size_bytes: int) -> None:
        """One more. Raises ApiError: 404, 409 while it is worked on, 413 where there are too many."""
        await to_its_end(self._add_recording(recording, size_bytes))

    async def _add_recording(self, recording: TrainingRecording, size_bytes: int) -> None:
        async with self._database.transaction() as rows:
            training = await _still(rows, recording.training_id)
            if training.recordings >= self._bounds.recordings:
                message = f"a training has at most {self._bounds.recordings} recordings"
                raise ApiError(413, "too_many_recordings", message, param="audio")
            seconds = training.audio_seconds + recording.audio_seconds
            if seconds > self._bounds.seconds:
                message = f"a training has at most {self._bounds.seconds / 60:g} minutes of recordings"
                raise ApiError(413, "too_many_recordings", message, param="audio")
            rows.add(recording)
            training.recordings += 1
            training.audio_seconds = seconds
            training.size_bytes = size_bytes
            _forget(training)

    async def remove_recording(self, training_id: str, recording_id: str) -> None:
        """One less. Raises ApiError: 404, 409 while it is worked on."""
        await to_its_end(self._remove_recording(training_id, recording_id))

    async def _remove_recording(self, training_id: str, recording_id: str) -> None:
        async with self._database.transaction(erasing=True) as rows:
            training = await _still(rows, training_id)
            recording = await rows.get(TrainingRecording, recording_id)
            if recording is None or recording.training_id != training_id:
                raise ApiError(404, "unknown_recording", "there is no such recording", param="recording")
            await rows.delete(recording)
            training.recordings -= 1
            training.audio_seconds = max(0.0, training.audio_seconds - recording.audio_seconds)
            _forget(training)

    async def remove(self, training_id: str) -> None:
        """Forget it, and what was said in its recordings."""
        await to_its_end(self._remove(training_id))

    async def _remove(self, training_id: str) -> None:
        async with self._database.transaction(erasing=True) as rows:
            await lock(rows, _LOCK)
            of_it = TrainingRecording.training_id == training_id
            await rows.execute(delete(TrainingRecording).where(of_it))
            await rows.execute(delete(Training).where(Training.id == training_id))


def _forget(training: Training) -> None:
    """What was learnt: of other recordings it would be another voice."""
    for column, value in NOTHING_LEARNT.items():
        setattr(training, column, value)
    training.used_at = now()


async def _still(rows: AsyncSession, training_id: str) -> Training:
    """One whose recordings may change, until the transaction ends. Raises ApiError 404, 409."""
    await lock(rows, _LOCK)
    training = await rows.get(Training, training_id, with_for_update=True)  # who starts it takes no lock
    if training is None:
        raise unknown_training()
    if training.state not in STILL:
        message = f"the training is {training.state}: its recordings stay as they are"
        raise ApiError(409, "training_state", message, param="id")
    return training


def unknown_training() -> ApiError:
    return ApiError(404, "unknown_training", "there is no such training", param="id")
