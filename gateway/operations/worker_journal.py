"""Writes into the event log what becomes of workers: each change of their state once."""

from __future__ import annotations

from gateway.operations.event_log import EventLog
from gateway.slots.pool import WorkerPool
from gateway.slots.worker import Health, Worker
from worker.protocol import WorkerState

_OWN_WORDS = {WorkerState.LOADING: "loading", WorkerState.DRAINING: "draining", WorkerState.ERROR: "error"}


class WorkerJournal:
    """Listens to the pool's `on_health`."""

    def __init__(self, pool: WorkerPool, log: EventLog) -> None:
        self._pool = pool
        self._log = log
        self._known: dict[str, tuple[str, str | None]] = {}
        """Condition and boot id by worker id, as last written."""
        pool.on_health.append(self._look_at)

    def _look_at(self, worker: Worker) -> None:
        known = self._known.get(worker.id)
        if self._pool.workers.get(worker.id) is not worker:
            if self._known.pop(worker.id, None) is not None:
                self._log.record("worker_forgotten", worker.id, "nothing was heard of it any more")
            return
        condition, boot_id = condition_of(worker), worker.boot_id
        if known == (condition, boot_id) or condition == Health.UNKNOWN.value:
            return
        self._known[worker.id] = condition, boot_id
        if known is not None and known[1] not in (None, boot_id):
            self._log.record("worker_restarted", worker.id, "a new process answers")
        if known is None or known[0] != condition:
            self._log.record(f"worker_{condition}", worker.id, _reason(worker, condition))


def condition_of(worker: Worker) -> str:
    """unknown, suspect, down, restarting, loading, draining, error or up."""
    if worker.restarting and worker.health in (Health.SUSPECT, Health.DOWN):
        return "restarting"
    if worker.health is not Health.UP or worker.status is None:
        return worker.health.value
    return _OWN_WORDS.get(worker.status.state, "up")


def _reason(worker: Worker, condition: str) -> str:
    if condition == "error" and worker.status is not None:
        return worker.status.error or ""
    if condition == "restarting":
        return "it ended, and is started again"
    if condition in ("suspect", "down"):
        return worker.last_failure or ""
    if condition == "draining" and worker.status is not None:
        return f"{worker.status.slots_used} requests open"
    return f"model {worker.model.name}" if worker.model else ""
