"""What goes by itself: jobs and books that are old or too much, and folders of which no row tells."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from gateway.jobs.files import JobFiles, is_job_id
from gateway.jobs.shelf import Shelf
from gateway.jobs.store import JobStore
from gateway.service import Gateway
from gateway.sessions.cleanup import Limits, Stored, choose, noticed_ahead
from gateway.tending.orphans import remove_orphans
from gateway.tending.rows import OPEN


class Swept(Protocol):
    """The jobs of a gateway."""

    folder: Path
    store: JobStore
    shelf: Shelf | None

    def files(self, job_id: str) -> JobFiles:
        """The files of one job."""


async def sweep(jobs: Swept, gateway: Gateway) -> None:
    """Remove it. Raises DatabaseError, SQLAlchemyError, OSError, and ApiError 503."""
    stored = await jobs.shelf.stored() if jobs.shelf is not None else []
    stored += [
        Stored(job.id, job.created_at, job.used_at, job.size_bytes, job.state in OPEN, True, job.owner)
        for job in await jobs.store.all_jobs()
    ]
    present = gateway.database.present.now()
    stored = await noticed_ahead(gateway.database, "long text", stored, present)
    for item in choose(stored, Limits.of(gateway.settings), present):
        kind = "job" if is_job_id(item.session_id) else "book"
        if kind == "job":
            await jobs.store.remove(item.session_id)
            await asyncio.to_thread(jobs.files(item.session_id).remove)
        else:
            await jobs.shelf.remove(item.session_id)
        gateway.operations.log.say(kind, item.session_id, "job_removed", reason=item.reason)
    kept = await jobs.store.kept()
    gateway.metrics.job_bytes.set(sum(kept.values()))
    await asyncio.to_thread(
        remove_orphans, jobs.folder, kept.keys(), is_job_id, lambda job_id: jobs.files(job_id).remove()
    )
