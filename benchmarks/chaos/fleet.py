"""Gateways and workers as processes, each worker behind a fault proxy, and what can be done to them."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from benchmarks.chaos.fault_proxy import FaultProxy
from benchmarks.shared.fleet import START_SECONDS, Process, free_port
from benchmarks.shared.http_client import get

RESTART_SECONDS = 0.5
"""After which a supervisor starts a dead process again."""


@dataclass(frozen=True)
class Fault:
    """What was done to one worker, and whose streams it hit."""

    at: float
    """time.perf_counter()"""
    worker: int
    request_ids: frozenset[str]


class Server(Process):
    """A process that can be signalled and waited for."""

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._popen.poll() is not None

    async def ended(self) -> int:
        """The exit status, when it has ended."""
        return await asyncio.to_thread(self._popen.wait)


@dataclass
class ChaosFleet:
    """`async with ChaosFleet(workers=3, slots=20, step_ms=40) as fleet`."""

    workers: int = 3
    slots: int = 20
    step_ms: float = 40.0
    model: str = "synthetic"
    gateways: int = 1
    seed: int = 0
    devices: Sequence[str] = ("cpu",)
    """Of the workers, in turn."""
    losable: bool = False
    """Workers can lose their devices, and end when they did, for a supervisor to start them again."""
    gateway_settings: dict[str, Any] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        self.draw = random.Random(self.seed)
        self._stack = AsyncExitStack()
        self.servers: list[Server] = []
        self.edges: list[Server] = []
        try:
            await self._start()
        except BaseException as error:
            await self._end(error)
            raise
        return self

    async def _start(self) -> None:
        self._ports = [free_port() for _ in range(self.workers)]
        self.servers = [self._start_worker(index) for index in range(self.workers)]
        self.proxies = [
            await self._stack.enter_async_context(FaultProxy(port, self.draw)) for port in self._ports
        ]
        self.edges = [self._start_gateway(free_port()) for _ in range(self.gateways)]
        await self.until_serving()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end(error)

    async def _end(self, error: BaseException | None) -> None:
        """No process is left; what they complained of goes with the error."""
        for server in [*self.edges, *self.servers]:
            if error is not None:
                error.add_note(server.log_tail())
            server.kill()
        await self._stack.aclose()

    @property
    def urls(self) -> list[str]:
        """Of the gateways."""
        return [edge.url for edge in self.edges]

    def _start_worker(self, index: int) -> Server:
        device = self.devices[index % len(self.devices)]
        options = ("--slots", str(self.slots), "--step-ms", str(self.step_ms), "--device", device)
        program = "benchmarks.chaos.lost_device" if self.losable else "voxfleet"
        return Server(
            "worker", "--model", self.model, *options,
            port=self._ports[index], program=program, worker_supervised=self.losable,
        )  # fmt: skip

    def _start_gateway(self, port: int) -> Server:
        urls = ",".join(f"http://127.0.0.1:{proxy.port}" for proxy in self.proxies)
        settings = {"log_level": "error", **self.gateway_settings}
        return Server("gateway", "--workers", urls, port=port, **settings)

    # ------------------------------------------------------------------------------------------------- faults

    async def kill_worker(self, index: int) -> Fault:
        """SIGKILL."""
        fault = await self._fault(index)
        self.servers[index].kill()
        return fault

    async def lose_device(self, index: int) -> Fault:
        """The next step of the worker's engine loses its device."""
        fault = await self._fault(index)
        self.servers[index].signal(signal.SIGUSR1)
        return fault

    async def pause_worker(self, index: int) -> Fault:
        """SIGSTOP, until `continue_worker`."""
        fault = await self._fault(index)
        self.servers[index].signal(signal.SIGSTOP)
        return fault

    def continue_worker(self, index: int) -> None:
        """SIGCONT."""
        self.servers[index].signal(signal.SIGCONT)

    async def end_worker(self, index: int) -> None:
        """SIGTERM, and wait until the process is gone."""
        self.servers[index].signal(signal.SIGTERM)
        await self.servers[index].ended()

    def restart_worker(self, index: int) -> None:
        """A new process at the same address."""
        self.servers[index] = self._start_worker(index)

    def kill_gateway(self, index: int) -> None:
        """SIGKILL."""
        self.edges[index].kill()

    def restart_gateway(self, index: int) -> None:
        """A new process at the same address."""
        self.edges[index] = self._start_gateway(self.edges[index].port)

    async def _fault(self, index: int) -> Fault:
        """The moment, and the requests that run on the worker."""
        _, queue = await get(self.edges[0].port, "/api/queue")
        running = (entry for entry in queue["running"] if entry["worker_id"] == f"w{index}")
        return Fault(time.perf_counter(), index, frozenset(entry["request_id"] for entry in running))

    async def runs(self, index: int) -> bool:
        """Whether a worker speaks for somebody."""
        return bool((await self._fault(index)).request_ids)

    # ------------------------------------------------------------------------------------------------ waiting

    async def until_serving(self, gateway: int | None = None) -> None:
        """Until every gateway, or the one given, counts every worker as up."""
        edges = self.edges if gateway is None else [self.edges[gateway]]
        async with asyncio.timeout(START_SECONDS):
            for edge in edges:
                while True:
                    if await self._is_serving(edge):
                        break
                    await asyncio.sleep(0.1)

    async def _is_serving(self, edge: Server) -> bool:
        try:
            status, ready = await get(edge.port, "/ready")
        except (OSError, asyncio.IncompleteReadError):
            return False
        return status == 200 and ready["workers"] == self.workers
