"""Jobs as the API tells them."""

from __future__ import annotations

from typing import Any

from gateway.database import Job
from gateway.tending.rows import OPEN, error_of


def describe(job: Job, tenant: str | None) -> dict[str, Any]:
    """As JSON, for `tenant`."""
    return {
        "id": job.id,
        "title": job.title,
        "state": job.state,
        "voice": job.voice,
        "format": job.format,
        "timestamps": job.timestamps,
        "created_at": job.created_at.isoformat(),
        "ended_at": job.ended_at.isoformat() if job.ended_at else None,
        "characters": job.characters,
        "characters_done": job.characters if job.state == "complete" else job.characters_done,
        "progress": share_of(job),
        "audio_seconds": audio_seconds(job),
        "eta_seconds": _eta_seconds(job),
        "size_bytes": job.size_bytes,
        "finish_reason": job.finish_reason,
        "error": error_of(job),
        "owner_is_me": job.owner == tenant,
    }


def share_of(job: Job) -> float:
    """How much of it is spoken, by characters: from 0 to 1."""
    if job.state == "complete":
        return 1.0
    return round(min(1.0, job.characters_done / max(1, job.characters)), 4)


def audio_seconds(job: Job) -> float:
    """Seconds of audio spoken so far."""
    return round(job.audio_bytes / 2 / job.sample_rate, 3) if job.sample_rate else 0.0


def _eta_seconds(job: Job) -> float | None:
    """By the pace so far; None before the first part, and for a job that has ended."""
    if job.state not in OPEN or not job.characters_done:
        return None
    left = max(0, job.characters - job.characters_done)
    return round(left * job.spent_seconds / job.characters_done, 1)
