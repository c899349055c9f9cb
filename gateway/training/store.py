"""The rows of trainings and of their recordings.

Everything raises DatabaseError or SQLAlchemyError. What writes is whole also when its caller is cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, Training, TrainingRecording
from gateway.database.tables import now
from gateway.database.transactions import lock, to_its_end
from gateway.errors import ApiError

COLLECTING = "collecting"
OPEN = ("queued", "running")
"""States in which it is worked on, or will be."""
STILL = (COLLECTING, "failed", "cancelled")
"""States in which recordings may come and go, and it may be started."""
_LOCK = 0x74726169


@dataclass(frozen=True)
class TrainingBounds:
    """How many there may be."""

    trainings: int
    per_owner: int
    recordings: int
    """Of one training."""
    seconds: float
    """Of all its recordings."""


class TrainingStore:
    """Reads and writes the tables."""

    def __init__(self, database: Database, bounds: TrainingBounds) -> None:
        self._database = database
        self._bounds = bounds

    async def add(self, training: Training) -> None:
        """A new one. Raises ApiError 429 when its owner, or all together, have too many."""
        await to_its_end(self._add(training))

    async def _add(self, training: Training) -> None:
        bounds = self._bounds
        async with self._database.transaction() as rows:
            await lock(rows, _LOCK)
            if await _count(rows, Training.owner == training.owner) >= bounds.per_owner:
                message = f"a client has at most {bounds.per_owner} trainings: delete some first"
                raise ApiError(429, "too_many_trainings", message, retry_after_seconds=60)
            if await _count(rows) >= bounds.trainings:
                message = f"the service keeps at most {bounds.trainings} trainings"
                raise ApiError(429, "too_many_trainings", message, retry_after_seconds=60)
            rows.add(training)

    async def get(self, training_id: str) -> Training | None:
        """One of them."""
        async with self._database.transaction() as rows:
            return await rows.get(Training, training_id)

    async def list(self, owner: str | None) -> list[Training]:
        """The newest first; everybody's when `owner` is None."""
        statement = select(Training).order_by(Training.created_at.desc(), Training.id)
        if owner is not None:
            statement = statement.where(Training.owner == owner)
        async with self._database.transaction() as rows:
            return list(await rows.scalars(statement))

    async def open_trainings(self) -> list[Training]:
        """Those that are to be worked on, the oldest first."""
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
            training.progress = {}
            training.used_at = now()

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
            training.progress = {}
            training.used_at = now()

    async def change(self, training_id: str, states: Sequence[str], **columns: Any) -> bool:
        """Set columns of one in one of the states; False when it is in another, or gone."""
        return await to_its_end(self._change(training_id, states, columns))

    async def _change(self, training_id: str, states: Sequence[str], columns: dict[str, Any]) -> bool:
        statement = update(Training).where(Training.id == training_id, Training.state.in_(states))
        async with self._database.transaction() as rows:
            return (await rows.execute(statement.values(**columns, used_at=now()))).rowcount > 0

    async def end(self, training_id: str, state: str, error: ApiError | None = None) -> bool:
        """It failed or was cancelled; False when it had ended already."""
        said = {"error_code": error.code, "error_message": error.message} if error else {}
        return await self.change(training_id, OPEN, state=state, ended_at=now(), **said)

    async def remove(self, training_id: str) -> None:
        """Forget it, and what was said in its recordings."""
        await to_its_end(self._remove(training_id))

    async def _remove(self, training_id: str) -> None:
        async with self._database.transaction(erasing=True) as rows:
            of_it = TrainingRecording.training_id == training_id
            await rows.execute(delete(TrainingRecording).where(of_it))
            await rows.execute(delete(Training).where(Training.id == training_id))


async def _still(rows: AsyncSession, training_id: str) -> Training:
    """One whose recordings may change, until the transaction ends. Raises ApiError 404, 409."""
    await lock(rows, _LOCK)
    training = await rows.get(Training, training_id)
    if training is None:
        raise unknown_training()
    if training.state not in STILL:
        message = f"the training is {training.state}: its recordings stay as they are"
        raise ApiError(409, "training_state", message, param="id")
    return training


async def _count(rows: AsyncSession, *conditions: Any) -> int:
    return int(await rows.scalar(select(func.count()).select_from(Training).where(*conditions)) or 0)


def unknown_training() -> ApiError:
    return ApiError(404, "unknown_training", "there is no such training", param="id")
