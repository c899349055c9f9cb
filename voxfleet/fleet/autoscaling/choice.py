"""Which of the workers that serve drains, when one is to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """One worker, as its place knows it."""

    id: str
    kind: str
    serving: bool
    """Neither loading nor draining nor dead."""
    slots_used: int = 0
    speed: float = 1.0
    """Audio made per time in use, against the median of its kind."""
    zone: str = ""


SLOW = 0.75
"""A worker below this share of its kind's speed goes first."""


def whom_to_drain(workers: Iterable[WorkerNow], kind: str) -> WorkerNow | None:
    """Among those of the kind that serve: a slow one, then the one with the fewest streams, then one of the
    fullest zone. None where none serves.
    """
    serving = [worker for worker in workers if worker.kind == kind and worker.serving]
    zones = Counter(worker.zone for worker in serving)
    return min(
        serving,
        key=lambda worker: (worker.speed >= SLOW, worker.slots_used, -zones[worker.zone], worker.id),
        default=None,
    )
