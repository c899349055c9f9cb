"""Reads off what the pool shows: how many workers, slots and requests there are, and what was made since."""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.operations.measurements.figures import Figures
from gateway.slots.pool import WorkerPool

_LONGEST_SECONDS = 10.0
"""A longer pause between two looks was a standstill, and says nothing of what it was like."""


class PoolSampler:
    """Counters of the workers as they were at the last look."""

    def __init__(self, pool: WorkerPool, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._looked_at = clock()
        self._speech: dict[tuple[str, str | None], float] = {}
        """Seconds of audio by worker and process."""
        self._errors: dict[str, int] = {}

    def look(self) -> Figures:
        """What it is like now, counted for the time since the last look."""
        now = self._clock()
        seconds, self._looked_at = min(now - self._looked_at, _LONGEST_SECONDS), now
        workers = self._pool.workers.values()
        return Figures(
            seconds=seconds,
            worker_seconds=seconds * sum(worker.serving for worker in workers),
            slot_seconds=seconds * sum(worker.slots_total for worker in workers if worker.serving),
            used_seconds=seconds * sum(len(worker.leases) for worker in workers),
            waiting_seconds=seconds * len(self._pool.queue),
            speech_seconds=self._new_speech(),
            errors=self._new_errors(),
        )

    def _new_speech(self) -> float:
        before, self._speech = self._speech, {}
        for worker in self._pool.workers.values():
            if worker.status is not None:
                self._speech[worker.id, worker.boot_id] = worker.status.counters.audio_seconds
        return sum(max(now - before[key], 0.0) for key, now in self._speech.items() if key in before)

    def _new_errors(self) -> int:
        before, workers = self._errors, self._pool.workers.values()
        self._errors = {worker.id: worker.figures.failures.total() for worker in workers}
        return sum(max(now - before.get(id, 0), 0) for id, now in self._errors.items())
