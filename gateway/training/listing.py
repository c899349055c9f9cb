"""Trainings as the API tells them."""

from __future__ import annotations

from typing import Any

from gateway.database import Training, TrainingRecording
from gateway.tending.rows import error_of


def describe(training: Training, tenant: str | None) -> dict[str, Any]:
    """As JSON, for `tenant`."""
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
        "adapter": training.adapter_id,
        "voice": training.voice_id,
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
