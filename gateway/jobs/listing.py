"""Jobs as the API tells them."""

from __future__ import annotations

from typing import Any

from gateway.database import Job
from gateway.jobs.store import OPEN


def describe(job: Job, tenant: str | None) -> dict[str, Any]:
    """As JSON, for `tenant`."""
    error = None
    if job.error_code is not None:
        error = {"code": job.error_code, "message": job.error_message}
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
        "progress": 1.0 if job.state == "complete" else round(_share(job), 4),
        "audio_seconds": round(job.audio_bytes / 2 / job.sample_rate, 3) if job.sample_rate else 0.0,
        "eta_seconds": _eta_seconds(job),
        "size_bytes": job.size_bytes,
        "finish_reason": job.finish_reason,
        "error": error,
        "owner_is_me": job.owner == tenant,
    }


def _share(job: Job) -> float:
    return min(1.0, job.characters_done / max(1, job.characters))


def _eta_seconds(job: Job) -> float | None:
    """By the pace so far; None before the first part, and for a job that has ended."""
    if job.state not in OPEN or not job.characters_done:
        return None
    left = max(0, job.characters - job.characters_done)
    return round(left * job.spent_seconds / job.characters_done, 1)
