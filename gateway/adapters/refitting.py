"""Adapters whose model came back as another revision: with other defaults or voices, and the same weights.

A worker reads each of them again, as it reads an upload. One whose files name the weights that it was trained
on belongs to the new revision from then on. Of another nobody knows, and its owner has to send it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from gateway.adapters.files import AdapterFiles
from gateway.adapters.reading import read_by
from gateway.adapters.registry import AdapterRegistry
from gateway.database import Adapter
from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from gateway.workers.client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable

logger = structlog.get_logger(__name__)

_LOOK_SECONDS = 2.0
_MOST_PASSED_OVER = 31
"""Looks in a row, a minute, while a worker does not take what it is asked to read."""


class Refitting:
    """`run` lasts until it is cancelled."""

    def __init__(
        self,
        registry: AdapterRegistry,
        files: AdapterFiles,
        pool: WorkerPool,
        clients: dict[str, WorkerClient],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry, self._files = registry, files
        self._pool, self._clients = pool, clients
        self._sleep = sleep
        self._seen: set[tuple[str, str]] = set()
        """Models and revisions for which there is nothing more to be done."""

    async def run(self) -> None:
        """Look whenever workers serve something else than before; where it failed, again, ever less often."""
        tried: set[tuple[str, str]] = set()
        failures = passing_over = 0
        while True:
            served = {(worker.model.name, worker.model.revision) for worker in self._taking(None)}
            if served != tried:
                tried, failures, passing_over = served, 0, 0
            if served != self._seen and passing_over:
                passing_over -= 1
            elif served != self._seen:
                if await self._look():
                    self._seen = served
                else:
                    failures += 1
                    passing_over = min(2**failures - 1, _MOST_PASSED_OVER)
            await self._sleep(_LOOK_SECONDS)

    def _taking(self, model: str | None) -> list[Worker]:
        """Workers that take adapters now, the least loaded first."""
        needed = Requirement(model, adapters=True)
        found = [worker for worker in self._pool.workers.values() if worker.serving and worker.offers(needed)]
        return sorted(found, key=lambda worker: len(worker.leases))

    async def _look(self) -> bool:
        """Whether all of them were looked at that could be."""
        try:
            rows = await self._registry.visible_to(None, everything=True)
            return all([await self._refit(row) for row in rows if self._is_left_behind(row)])
        except ApiError as error:
            logger.warning("adapters of earlier revisions were not looked for", error=error.code)
            return False

    def _is_left_behind(self, row: Adapter) -> bool:
        needed = Requirement(row.model, revision=row.model_revision, adapters=True)
        return not any(worker.offers(needed) for worker in self._pool.workers.values())

    async def _refit(self, row: Adapter) -> bool:
        """False when a worker has to be asked later. Raises ApiError 503."""
        for worker in self._taking(row.model)[:1]:
            try:
                body = await self._files.read(row.digest)
            except ApiError:
                logger.warning("the file of an adapter cannot be read", id=row.id)
                continue
            try:
                found = await read_by(worker, self._clients[worker.id], body, row.digest)
            except RequestRejected as error:
                logger.warning(
                    "an adapter does not fit its model any more", id=row.id, code=error.detail.code
                )
            except (WorkerUnreachable, WorkerRefused) as error:
                logger.info("an adapter was not read", worker=worker.id, error=type(error).__name__)
                return False
            else:
                if not found.names_weights:
                    logger.warning("an adapter is of an earlier revision of its model", id=row.id)
                    continue
                await self._registry.change(row.id, {"model_revision": found.model_revision})
                logger.info("an adapter fits the present revision of its model", id=row.id)
        return True
