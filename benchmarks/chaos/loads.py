"""How much of a scenario is run, trouble beside its load, and what became of the requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks.chaos.listeners import Heard, load

SLOTS, STEP_MS, PATCHES, CLIENTS = 20, 40.0, 25, 40


@dataclass(frozen=True)
class Size:
    """How much of a scenario is run; the suite runs little."""

    requests: int
    clients: int = CLIENTS
    patches: int = PATCHES
    step_ms: float = STEP_MS
    fault_every_seconds: float = 5.0
    pause_seconds: float = 2.0
    """How long a stopped worker stays stopped."""
    devices: tuple[str, ...] = ("cpu",)
    """Of the workers of the bundled voice."""


class Loaded(Protocol):
    """What is under load."""

    @property
    def urls(self) -> Sequence[str]:
        """Of the gateways."""


async def under_load(
    fleet: Loaded,
    size: Size,
    seed: int,
    trouble: Callable[[], Awaitable[None]],
    *,
    resume: bool = False,
    model: str | None = None,
) -> list[Heard]:
    """The load, with `trouble` repeated beside it until the load is done."""

    async def repeat() -> None:
        while True:
            await trouble()

    troubling = asyncio.create_task(repeat())
    try:
        return await load(
            fleet.urls, size.requests, size.clients, size.patches, seed, resume=resume, model=model
        )
    finally:
        troubling.cancel()
        done = await asyncio.gather(troubling, return_exceptions=True)
        if not isinstance(done[0], asyncio.CancelledError):
            raise done[0]


def verdict(heard: Sequence[Heard]) -> dict[str, Any]:
    """What became of the requests."""
    served = [one for one in heard if one.error is None]
    return {
        "requests": len(heard),
        "lost": len(heard) - len(served),
        "wrong": sum(not one.is_right() for one in served),
        "migrations": sum(one.migrations for one in served),
        "errors": dict(Counter(one.error for one in heard if one.error is not None)),
    }


def distribution(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    if not seconds:
        return {"count": 0}
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return {
        "count": len(seconds), "p50_ms": round(p50, 1), "p99_ms": round(p99, 1),
        "max_ms": round(max(seconds) * 1000, 1),
    }  # fmt: skip
