"""When an attempt failed: may the request be tried again, and who pays for it.

One `Failover` per request counts what happened to it. Each failed attempt costs a retry of the gateway's
budget; a clip moves at most `max_migrations` times because of faults, of which those are forgotten that it
has flowed on after for a while; and a request under which two workers died, or broke off before its first
patch, or whose engine gave it up twice, is refused before it has ended them all. A worker that hands its
streams over (it drains, or was told to end) costs nothing: that is no fault of anybody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Health, Worker
from gateway.streams.retry_budget import RetryBudget
from worker.protocol import WorkerState

MAX_UNREACHABLE = 5
"""Workers that may refuse the connection before a request is given up."""
MAX_DEATHS = 2
_GIVEN_UP = ("failed", "stalled")
"""Reasons that count as a death without further evidence: the engine itself stopped with this request."""
HANDED_OVER = "leaving"
_INQUEST_SECONDS = 0.5
_FORGOTTEN_SECONDS = 10.0
"""Of flowing: a worker that stands still now and then, as on a busy machine, ends no long clip."""

Probe = Callable[[Worker], Awaitable[None]]
"""Asks a worker how it is and tells the pool."""


class Failover:
    """The history of one request's attempts. Methods raise ApiError when the request is to end."""

    def __init__(
        self,
        budget: RetryBudget,
        max_migrations: int,
        probe: Probe,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.migrations = 0
        """How often the clip moved to another worker, for whatever reason."""
        self._budget = budget
        self._max_migrations = max_migrations
        self._probe = probe
        self._clock = clock
        self._faults = 0
        self._last_fault_at = clock()
        self._unreachable = 0
        self._deaths = 0
        self._lost: list[tuple[Worker, str | None]] = []
        """Workers, with their boot ids, whose connection broke under this request."""

    async def after_unreachable(self, error: Exception, patience_seconds: float) -> None:
        """A worker did not take the request."""
        self._unreachable += 1
        if self._unreachable >= MAX_UNREACHABLE:
            raise ApiError(503, "worker_unreachable", "no worker could be reached") from error
        await self._pay(patience_seconds)

    async def after_break(
        self, worker: Worker, reason: str, *, progress: bool, patience_seconds: float
    ) -> None:
        """The stream broke on `worker`, after at least one patch from there (`progress`) or none."""
        self.migrations += 1
        if reason == HANDED_OVER:
            return
        now = self._clock()
        if progress and now - self._last_fault_at > _FORGOTTEN_SECONDS:
            self._faults = 0
        self._faults, self._last_fault_at = self._faults + 1, now
        if reason in _GIVEN_UP or (reason == "closed" and not progress):
            self._deaths += 1
        elif reason == "closed":
            self._lost.append((worker, worker.boot_id))
        if await self._is_poison() or self._faults > self._max_migrations:
            raise ApiError(500, "worker_failed", "the workers that took this request failed")
        if progress:
            self._budget.charge()
        else:
            await self._pay(patience_seconds)

    def moved(self) -> None:
        """The stream was taken off a worker on purpose."""
        self.migrations += 1

    async def _is_poison(self) -> bool:
        """Whether enough workers died: for a connection that broke under way, those that are gone."""
        if self._deaths + len(self._lost) < MAX_DEATHS:
            return False
        if self._lost:  # the earlier ones were probed when they failed
            last, _ = self._lost[-1]
            try:
                async with asyncio.timeout(_INQUEST_SECONDS):
                    await self._probe(last)
            except TimeoutError:
                return False
        return self._deaths + sum(_died(worker, boot_id) for worker, boot_id in self._lost) >= MAX_DEATHS

    async def _pay(self, patience_seconds: float) -> None:
        if not await self._budget.wait_and_spend(patience_seconds):
            message = "too many requests are being tried again"
            raise ApiError(503, "retry_budget", message, retry_after_seconds=5)


def _died(worker: Worker, boot_id: str | None) -> bool:
    """Whether the process that had this boot id is gone or has lost its engine."""
    if worker.boot_id != boot_id or worker.health is Health.DOWN:
        return True
    if worker.health is Health.SUSPECT:
        return worker.failures > 0
    return worker.status is not None and worker.status.state is WorkerState.ERROR
