"""Writes into the event log what becomes of workers: each change of their state once."""

from __future__ import annotations

from gateway.operations.event_log import EventLog
from gateway.slots.capacity.worker import Health, Worker
from gateway.slots.pool import WorkerPool
from worker.protocol import WorkerState

_OWN_WORDS = {WorkerState.LOADING: "loading", WorkerState.DRAINING: "draining", WorkerState.ERROR: "error"}


class WorkerJournal:
    """Listens to `on_health` of the pool's reports."""

    def __init__(self, pool: WorkerPool, log: EventLog) -> None:
        self._pool = pool
        self._log = log
        self._known: dict[str, tuple[str, str | None]] = {}
        """Condition and boot id by worker id, as last written."""
        pool.reports.on_health.append(self._look_at)

    def _look_at(self, worker: Worker) -> None:
        known = self._known.get(worker.id)
        if self._pool.workers.get(worker.id) is not worker:
            if self._known.pop(worker.id, None) is not None:
                self._log.say("worker_forgotten", worker.id, "forgotten")
            return
        condition, boot_id = condition_of(worker), worker.boot_id
        if known == (condition, boot_id) or condition == Health.UNKNOWN.value:
            return
        self._known[worker.id] = condition, boot_id
        if known is not None and known[1] not in (None, boot_id):
            self._log.say("worker_restarted", worker.id, "new_process")
        if known is None or known[0] != condition:
            self._tell(f"worker_{condition}", worker, condition)

    def _tell(self, kind: str, worker: Worker, condition: str) -> None:
        if condition == "restarting":
            self._log.say(kind, worker.id, "being_restarted")
        elif condition in ("suspect", "down", "error"):
            self._log.quote(kind, worker.id, _reason(worker, condition))
        elif condition == "draining" and worker.status is not None:
            self._log.say(kind, worker.id, "requests_open", open=worker.status.slots_used)
        elif worker.model is not None:
            self._log.say(kind, worker.id, "model", model=worker.model.name)
        else:
            self._log.quote(kind, worker.id, "")


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
    return worker.last_failure or ""
