"""Watching one worker: probe it at its own pace and tell the pool.

Each worker has its own task, so that a worker that hangs delays nobody else's probe. A worker that is up is
asked once a second; one that loads, is suspect or down is asked more often, so that it is used again as soon
as it answers. `check_now` skips the wait: a request that failed on a worker calls it.
"""

from __future__ import annotations

import asyncio

import structlog

from gateway.settings import GatewaySettings
from gateway.slots.capacity.worker import Health, Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.client import WorkerClient, WorkerUnreachable

logger = structlog.get_logger(__name__)


class HealthMonitor:
    """Probes one worker until cancelled."""

    def __init__(
        self, worker: Worker, client: WorkerClient, pool: WorkerPool, settings: GatewaySettings
    ) -> None:
        self._worker = worker
        self._client = client
        self._pool = pool
        self._settings = settings
        self._wanted = asyncio.Event()

    def check_now(self) -> None:
        """Probe at once."""
        self._wanted.set()

    async def run(self) -> None:
        """Probe for ever."""
        while True:
            self._wanted.clear()
            try:
                await self.probe()
            except Exception:
                logger.exception("probe failed", id=self._worker.id)
            try:
                async with asyncio.timeout(self._interval_seconds()):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def probe(self) -> None:
        """Ask once and tell the pool."""
        before = (self._worker.health, self._worker.state)
        boot_id = self._worker.boot_id
        try:
            status = await self._client.control.status()
        except WorkerUnreachable as error:
            self._pool.reports.missed(self._worker, str(error))
            if self._worker.health is Health.DOWN:
                self._client.lose()
        else:
            if status.boot_id != boot_id:
                self._client.drop_connections()
            self._pool.reports.answered(self._worker, status)
        now = (self._worker.health, self._worker.state)
        if now[0] is not before[0] or ({now[1], before[1]} - {"IDLE", "BUSY"} and now != before):
            failure = self._worker.last_failure
            logger.info("worker", id=self._worker.id, health=now[0].value, state=now[1], failure=failure)

    def _interval_seconds(self) -> float:
        if self._worker.health is Health.UP and self._worker.state != "LOADING":
            return self._settings.health_interval_seconds
        return self._settings.health_retry_seconds
