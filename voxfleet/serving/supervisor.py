"""`voxfleet serve`: a gateway and its workers as child processes, kept alive, ended together.

The supervisor chooses ports, and a device for each worker. It starts everything at once, prints the URL when
the gateway can take requests, and restarts what dies. Workers listen on loopback. They share a secret with
the gateway, which is made here and travels by environment, never on a command line.

It ends with 0 after Ctrl-C or SIGTERM, and with 1 when it cannot serve: the gateway, or every worker, failed
to start several times in a row.

An `Overseer` adds and removes workers meanwhile (`voxfleet fleet up`). Then workers dial in at the gateway,
and the overseer's end is the end of all.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import httpx

from gateway.files.kept_secrets import ADMIN_TOKEN
from voxfleet.processes.child_process import voxfleet_command
from voxfleet.processes.service import Health, RestartPolicy, Service
from voxfleet.processes.worker_service import (
    ANY_ADDRESS,
    LOOPBACK,
    PROBE_TIMEOUT_SECONDS,
    SECRET_VARIABLE,
    WORKER_GRACE_SECONDS,
    WorkerPlan,
    answer_of,
    given_secret,
    url_of,
    worker_service,
)
from voxfleet.serving.console import ServeConsole

LAST_WORDS_SECONDS = 7.0
"""What the gateway gets on top, to tell its last clients and its database that it goes."""


@dataclass(frozen=True)
class ServePlan:
    """Everything decided before the first process starts."""

    host: str
    port: int
    workers: tuple[WorkerPlan, ...] = ()
    """The workers that run from the beginning on."""
    config: Path | None = None
    secure: bool = False
    """The gateway speaks TLS."""
    data_dir: Path | None = None
    """Where the gateway keeps the admin token that it makes; None where the settings name one."""
    shutdown_seconds: float = 5.0
    more_ports: tuple[int, ...] = ()
    """A further gateway listens on each; all share the workers that are added."""
    gateway_environment: Mapping[str, str] = field(default_factory=dict)
    """Settings of the gateway that come from elsewhere."""
    policy: RestartPolicy = field(default_factory=RestartPolicy)

    @property
    def url(self) -> str:
        """Where this machine finds the server."""
        return self.urls[0]

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all gateways."""
        return tuple(url_of(self.host, port, self.secure) for port in (self.port, *self.more_ports))


class Overseer(Protocol):
    """Who decides which workers run."""

    async def run(self) -> None:
        """Add and remove workers; to return is to end all."""

    def on_health(self, worker: str, health: Health) -> None:
        """A worker answered."""

    def on_down(self, worker: str, failed_starts: int) -> None:
        """A run of a worker ended; so many starts of it in a row have failed."""


class Supervisor:
    """Runs a `ServePlan` until it is told to stop or finds that it cannot serve."""

    def __init__(self, plan: ServePlan, console: ServeConsole, secret: str | None = None) -> None:
        """`secret`: of gateway and workers; None: the one of the environment, or a new one."""
        self._plan = plan
        self._console = console
        self._overseer: Overseer | None = None
        self._outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        # A certificate names another host than the loopback address at which the gateway is probed.
        self._client = httpx.AsyncClient(
            timeout=PROBE_TIMEOUT_SECONDS, trust_env=False, verify=not plan.secure
        )
        self._secret = secret or given_secret() or secrets.token_urlsafe(32)
        self._workers = {worker.name: self._worker(worker) for worker in plan.workers}
        self._gateways = [
            self._gateway_service(number, port)
            for number, port in enumerate((plan.port, *plan.more_ports), start=1)
        ]

    async def run(self, overseer: Overseer | None = None) -> int:
        """Serves; returns the exit code."""
        self._overseer = overseer
        self._handle_signals()
        overseeing = [asyncio.create_task(self._oversee(overseer))] if overseer is not None else []
        for task in overseeing:
            task.add_done_callback(self._on_task_done)
        for service in self._services:
            self._start(service)
        ready = asyncio.create_task(self._announce_when_ready())
        ready.add_done_callback(self._on_task_done)
        try:
            failure = await self._outcome
            self._console.say(f"cannot serve: {failure}" if failure else "stopping", "red" if failure else "")
        finally:
            for task in [ready, *overseeing]:
                task.cancel()
            await asyncio.gather(*overseeing, return_exceptions=True)
            await self._stop_children()
            await self._client.aclose()
        return 1 if failure else 0

    @property
    def _services(self) -> list[Service]:
        return [*self._workers.values(), *self._gateways]

    def add_worker(self, worker: WorkerPlan) -> None:
        """Start one more, which dials in, and keep it alive until it is removed."""
        worker = replace(worker, gateway_urls=self._plan.urls, config=self._plan.config)
        self._workers[worker.name] = service = self._worker(worker)
        self._start(service)

    async def remove_worker(self, name: str) -> None:
        """End one for good; what it streams moves to others."""
        await self._workers[name].stop(WORKER_GRACE_SECONDS)
        del self._workers[name]

    def _start(self, service: Service) -> None:
        service.start().add_done_callback(self._on_task_done)

    async def _oversee(self, overseer: Overseer) -> None:
        await overseer.run()
        self._end(None)

    def _worker(self, worker: WorkerPlan) -> Service:
        return worker_service(worker, self._secret, self._client, self, self._plan.policy)

    def _gateway_service(self, number: int, port: int) -> Service:
        plan = self._plan
        workers = ",".join(f"http://{LOOPBACK}:{worker.port}" for worker in plan.workers)  # "" names none
        command = voxfleet_command("gateway", host=plan.host, port=port, workers=workers, config=plan.config)
        instance = secrets.token_hex(8)
        environment = {SECRET_VARIABLE: self._secret, "VOXFLEET_SHUTDOWN_SECONDS": str(plan.shutdown_seconds)}
        environment["VOXFLEET_INSTANCE"] = instance
        environment |= plan.gateway_environment
        url = url_of(plan.host, port, plan.secure)

        async def probe(pid: int) -> Health | None:
            response = await answer_of(self._client, f"{url}/health")
            if response is None or not response.is_success:
                return None
            return gateway_health(response, instance)

        name = "gateway" if number == 1 else f"gateway-{number}"
        return Service(name, command, environment, probe, self, plan.policy)

    async def _announce_when_ready(self) -> None:
        for url, gateway in zip(self._plan.urls, self._gateways, strict=True):
            while True:
                if gateway.is_healthy and await self._is_ready(url):
                    break
                await asyncio.sleep(self._plan.policy.probe_interval_seconds)
        everywhere = " (on every address of this machine)" if self._plan.host in ANY_ADDRESS else ""
        self._console.say(f"VoxFleet is ready: {self._plan.url}{everywhere}", "bold green")
        if further := self._plan.urls[1:]:
            self._console.say(f"and so are its further gateways: {', '.join(further)}")
        if self._plan.data_dir is not None:
            self._console.say_admin_page(f"{self._plan.url}/admin", self._plan.data_dir / ADMIN_TOKEN)

    async def _is_ready(self, url: str) -> bool:
        response = await answer_of(self._client, f"{url}/ready")
        return response is not None and response.is_success

    def on_line(self, service: Service, line: str) -> None:
        self._console.on_line(service, line)

    def on_health(self, service: Service, health: Health) -> None:
        self._console.on_health(service, health)
        if self._overseer is not None and service not in self._gateways:
            self._overseer.on_health(service.name, health)

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        """Tells the user, or gives up when nothing is left to hope for."""
        if all(gateway.hopeless for gateway in self._gateways):
            self._end(f"the gateway {reason}")
        elif self._overseer is None and all(worker.hopeless for worker in self._workers.values()):
            self._end(f"no worker starts; {service.name} {reason}")
        else:
            self._console.on_down(service, reason, delay_seconds)
            if self._overseer is not None and service not in self._gateways:
                self._overseer.on_down(service.name, service.failed_starts)

    def _end(self, failure: str | None) -> None:
        if not self._outcome.done():
            self._outcome.set_result(failure)

    def _on_task_done(self, task: asyncio.Task) -> None:
        if not task.cancelled() and task.exception() is not None and not self._outcome.done():
            self._outcome.set_exception(task.exception())

    def _handle_signals(self) -> None:
        def on_signal() -> None:
            if self._outcome.done():
                for service in self._services:
                    service.kill()
            self._end(None)

        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup wants it to stay ignored
            numbers.append(signal.SIGHUP)
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, on_signal)

    async def _stop_children(self) -> None:
        """Gateways first, so that they can let running streams finish while their workers still live."""
        seconds = self._plan.shutdown_seconds + LAST_WORDS_SECONDS
        await asyncio.gather(*(gateway.stop(seconds) for gateway in self._gateways))
        await asyncio.gather(*(worker.stop(WORKER_GRACE_SECONDS) for worker in self._workers.values()))


def gateway_health(response: httpx.Response, instance: str) -> Health:
    """Reads the `/health` of the gateway that was started as `instance`; who else answers has its port."""
    try:
        found = response.json().get("instance")
    except (ValueError, AttributeError):
        found = None
    return (
        Health(healthy=True) if found == instance else Health(error="finds its port held by another server")
    )


async def supervise(plan: ServePlan) -> int:
    """Serves until stopped; returns the exit code."""
    with ServeConsole() as console:
        return await Supervisor(plan, console).run()
