"""What belongs to each worker for as long as it is known: a client that talks to it, a task that watches it.

The workers of the static list are there from the start; those that dial in come and go, see
`gateway/workers/registration.py`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from gateway.settings import GatewaySettings
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.client import ReadAdapter, WorkerClient
from gateway.workers.health import HealthMonitor
from gateway.workers.http import worker_http
from gateway.workers.metronome import Metronome
from gateway.workers.slot_watch import SlotWatch
from gateway.workers.whereabouts import Whereabouts
from worker.protocol import GATEWAY_HEADER


class Roster:
    """Clients and health monitors, by worker id."""

    def __init__(
        self, pool: WorkerPool, settings: GatewaySettings, read_adapter: ReadAdapter | None = None
    ) -> None:
        """`read_adapter`: for workers that lack one."""
        self._read_adapter = read_adapter
        self.clients: dict[str, WorkerClient] = {}
        self._pool = pool
        self._settings = settings
        self._metronome = Metronome()
        self._http: httpx.AsyncClient | None = None
        self._monitors: dict[str, HealthMonitor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._slots: dict[str, SlotWatch] = {}
        self._slot_tasks: dict[str, asyncio.Task[None]] = {}
        self._name = secrets.token_hex(8)
        """By which workers tell this gateway from others."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch every worker of the pool for as long as the block lasts."""
        ticking = asyncio.create_task(self._metronome.run())
        async with worker_http() as self._http:
            for worker in self._pool.workers.values():
                self.watch(worker)
            try:
                yield
            finally:
                tasks = [ticking, *self._tasks.values(), *self._slot_tasks.values()]
                ticking.cancel()
                for worker_id in list(self.clients):
                    self.forget(worker_id)
                await asyncio.gather(*tasks, return_exceptions=True)

    def watch(self, worker: Worker, whereabouts: Whereabouts | None = None) -> None:
        """Have a worker probed, from now on and now. Does nothing for one that is being watched.

        `whereabouts`: of one that dialled in; those of the static list are where their URL says.
        """
        if worker.id in self._tasks:
            return
        if worker.id not in self.clients:
            where = whereabouts or Whereabouts(worker.url, secret=self._settings.worker_secret)
            where.headers[GATEWAY_HEADER] = self._name
            client = WorkerClient(
                worker.url, self._settings, self._http, self._metronome, where, self._read_adapter
            )
            self.clients[worker.id] = client
            self._monitors[worker.id] = HealthMonitor(worker, client, self._pool, self._settings)
            self._slots[worker.id] = SlotWatch(worker, where, self._pool, self._settings)
        self._tasks[worker.id] = asyncio.create_task(self._monitors[worker.id].run())
        self._slot_tasks[worker.id] = asyncio.create_task(self._slots[worker.id].run())

    def unwatch(self, worker_id: str) -> None:
        """Cease to probe a worker. Streams that run on it go on."""
        if task := self._tasks.pop(worker_id, None):
            task.cancel()
            self._slot_tasks.pop(worker_id).cancel()
        self.clients[worker_id].lose()

    def forget(self, worker_id: str) -> None:
        """Drop everything about a worker that holds no lease."""
        self.unwatch(worker_id)
        del self.clients[worker_id], self._monitors[worker_id], self._slots[worker_id]

    async def probe(self, worker: Worker) -> None:
        """Ask a worker how it is, and tell the pool."""
        if monitor := self._monitors.get(worker.id):
            await monitor.probe()

    def check_now(self, worker_id: str) -> None:
        """Have a worker's health looked at now."""
        if monitor := self._monitors.get(worker_id):
            monitor.check_now()
