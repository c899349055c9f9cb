"""Trainings as the API tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, union_all

from gateway.database import Adapter, Database, Training, TrainingRecording, Voice
from gateway.tending.rows import error_of


async def describe(training: Training, tenant: str | None, database: Database) -> dict[str, Any]:
    """As JSON, for `tenant`. Raises DatabaseError or SQLAlchemyError."""
    return (await describe_all([training], tenant, database))[0]


async def describe_all(
    trainings: Sequence[Training], tenant: str | None, database: Database
) -> list[dict[str, Any]]:
    """The same of several. A voice or an adapter that was deleted since is not named."""
    kept = await _kept(trainings, database)
    return [_described(training, tenant, kept) for training in trainings]


async def _kept(trainings: Sequence[Training], database: Database) -> set[str]:
    """Ids of the voices and adapters that came of these and are still there."""
    voices = [one.voice_id for one in trainings if one.voice_id]
    adapters = [one.adapter_id for one in trainings if one.adapter_id]
    if not voices and not adapters:
        return set()
    asked = (select(Voice.id).where(Voice.id.in_(voices)), select(Adapter.id).where(Adapter.id.in_(adapters)))
    async with database.transaction() as rows:
        return set(await rows.scalars(union_all(*asked)))


def _described(training: Training, tenant: str | None, kept: set[str]) -> dict[str, Any]:
    return {
        "id": training.id,
        "name": training.name,
        "language": training.language,
        "state": training.state,
        "created_at": training.created_at.isoformat(),
        "started_at": training.started_at.isoformat() if training.started_at else None,
        "ended_at": training.ended_at.isoformat() if training.ended_at else None,
        "recordings": training.recordings,
        "audio_seconds": round(training.audio_seconds, 1),
        "size_bytes": training.size_bytes,
        "steps": training.steps,
        "progress": training.progress or None,
        "error": error_of(training),
        "adapter": training.adapter_id if training.adapter_id in kept else None,
        "voice": training.voice_id if training.voice_id in kept else None,
        "owner_is_me": training.owner == tenant,
    }


def describe_recording(recording: TrainingRecording) -> dict[str, Any]:
    """As JSON."""
    return {
        "id": recording.id,
        "name": recording.name,
        "transcript": recording.transcript,
        "audio_seconds": round(recording.audio_seconds, 2),
        "checks": recording.checks,
    }
