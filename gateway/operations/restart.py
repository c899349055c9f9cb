"""Restarting a worker while it is used: its streams go on elsewhere, and it comes back as a new process.

The worker is told once, and does the rest itself: it drains, ends when its slots are free or its time is
over, and whoever supervises it starts it again. Until then its streams move to other workers as those have
room; what is left at the end is handed over as when it drains to its end. Requests that only it could serve
wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Health, Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.client import WorkerClient, WorkerUnreachable

RETURN_SECONDS = 120.0
"""How long a worker that ended is waited for before it counts as lost."""


async def restart_worker(
    pool: WorkerPool, clients: Mapping[str, WorkerClient], worker_id: str, wait_seconds: float
) -> Worker:
    """Tell a worker to end within `wait_seconds`. Returns when it has heard.

    Raises ApiError: 404 unknown, 409 when nobody would start it again or it restarts already, 502 when it
    cannot be reached.
    """
    worker = pool.workers.steady(worker_id)
    if worker.status is not None and not worker.status.supervised:
        message = f"nobody would start worker {worker_id} again: it runs without a supervisor"
        raise ApiError(409, "worker_not_supervised", message, param="id")
    health, worker.restarting = worker.health, True  # before it hears: an idle one ends at once
    try:
        status = await clients[worker_id].control.shut_down(wait_seconds)
    except BaseException as error:
        worker.restarting = False
        if not isinstance(error, WorkerUnreachable):
            raise
        raise ApiError(502, "worker_unreachable", f"worker {worker_id} does not answer") from error
    if worker.health is health:  # what was heard of it meanwhile is newer
        pool.reports.answered(worker, status)
    if worker.boot_id == status.boot_id:
        worker.restarting = worker.moving_out = True
        seconds = wait_seconds + RETURN_SECONDS
        asyncio.get_running_loop().call_later(seconds, _give_up, pool, worker, status.boot_id)
    return worker


def _give_up(pool: WorkerPool, worker: Worker, boot_id: str) -> None:
    """Nothing waits for a worker any longer that has not come back."""
    if not worker.restarting or worker.boot_id != boot_id:
        return
    worker.restarting = False
    if worker.health is not Health.UP and pool.workers.get(worker.id) is worker:
        pool.reports.gone(worker, "it was not started again")
