"""`voxfleet serve`: a gateway and its workers as child processes, kept alive, ended together.

The supervisor plans (which ports, which device for which worker), starts everything at once, prints the URL
when the gateway says that it can take requests, and from then on restarts what dies. Workers listen on
loopback and share a secret with the gateway that is made here and travels by environment, never on a command
line.

It ends with 0 after Ctrl-C or SIGTERM, and with 1 when it cannot serve: the gateway, or every worker, failed
to start several times in a row.

An `Overseer` adds and removes workers meanwhile (`voxfleet fleet up`). Then workers dial in at the gateway,
and the overseer's end is the end of all.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx

from gateway.kept_secrets import ADMIN_TOKEN, read_secret
from voxfleet.child_process import voxfleet_command
from voxfleet.console import ServeConsole
from voxfleet.devices import Placement
from voxfleet.service import Health, Probe, RestartPolicy, Service
from worker.protocol import WorkerState, WorkerStatus

LOOPBACK = "127.0.0.1"
PROBE_TIMEOUT_SECONDS = 2.0
SECRET_VARIABLE = "VOXFLEET_WORKER_SECRET"
GATEWAYS_VARIABLE = "VOXFLEET_WORKER_GATEWAY_URLS"
WORKER_ID_VARIABLE = "VOXFLEET_WORKER_WORKER_ID"
SUPERVISED_VARIABLE = "VOXFLEET_WORKER_SUPERVISED"
LAST_WORDS_SECONDS = 3.0
"""What the gateway gets on top, to tell its last clients that it goes."""
WORKER_GRACE_SECONDS = 5.0
ANY_ADDRESS = {"0.0.0.0": LOOPBACK, "::": "::1"}


def url_of(host: str, port: int, secure: bool = False) -> str:
    """Where this machine finds a server that listens there."""
    host = ANY_ADDRESS.get(host, host)
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


@dataclass(frozen=True)
class ServePlan:
    """Everything decided before the first process starts."""

    host: str
    port: int
    model: str
    worker_ports: tuple[int, ...]
    placements: tuple[Placement, ...]
    config: Path | None = None
    secure: bool = False
    """The gateway speaks TLS."""
    data_dir: Path | None = None
    """Where the gateway keeps the admin token that it makes; None where the settings name one."""
    shutdown_seconds: float = 5.0
    gateway_environment: Mapping[str, str] = field(default_factory=dict)
    """Settings of the gateway that come from elsewhere."""
    policy: RestartPolicy = field(default_factory=RestartPolicy)

    @property
    def url(self) -> str:
        """Where this machine finds the server."""
        return url_of(self.host, self.port, self.secure)


@dataclass(frozen=True)
class WorkerPlan:
    """One worker."""

    name: str
    port: int
    model: str
    placement: Placement
    slots: int | None = None
    """None leaves it to the worker's own settings."""
    dials_in: bool = False
    """The gateway learns of it from itself, by its name."""


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

    def __init__(self, plan: ServePlan, console: ServeConsole) -> None:
        self._plan = plan
        self._console = console
        self._overseer: Overseer | None = None
        self._outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        # A certificate names another host than the loopback address at which the gateway is probed.
        self._client = httpx.AsyncClient(
            timeout=PROBE_TIMEOUT_SECONDS, trust_env=False, verify=not plan.secure
        )
        self._secret = os.environ.get(SECRET_VARIABLE) or secrets.token_urlsafe(32)
        workers = [
            WorkerPlan(f"worker-{index}", port, plan.model, placement)
            for index, (port, placement) in enumerate(zip(plan.worker_ports, plan.placements, strict=True))
        ]
        self._workers = {worker.name: self._worker(worker) for worker in workers}
        self._gateway = self._gateway_service(self._secret)

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
        return [*self._workers.values(), self._gateway]

    def add_worker(self, worker: WorkerPlan) -> None:
        """Start one more, and keep it alive until it is removed."""
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
        placement, config = worker.placement, self._plan.config
        command = voxfleet_command(
            "worker", host=LOOPBACK, port=worker.port, device=placement.device, model=worker.model,
            slots=worker.slots, config=config,
        )  # fmt: skip
        environment = {SECRET_VARIABLE: self._secret, SUPERVISED_VARIABLE: "1", **placement.environment}
        if worker.dials_in:
            environment |= {GATEWAYS_VARIABLE: self._plan.url, WORKER_ID_VARIABLE: worker.name}
        probe = self._probe_worker(worker.port, self._secret)
        return Service(worker.name, command, environment, probe, self, self._plan.policy)

    def _gateway_service(self, secret: str) -> Service:
        plan = self._plan
        workers = ",".join(f"http://{LOOPBACK}:{port}" for port in plan.worker_ports)  # "" names none
        command = voxfleet_command(
            "gateway", host=plan.host, port=plan.port, workers=workers, config=plan.config
        )
        environment = {SECRET_VARIABLE: secret, "VOXFLEET_SHUTDOWN_SECONDS": str(plan.shutdown_seconds)}
        environment |= plan.gateway_environment
        return Service("gateway", command, environment, self._probe_gateway, self, plan.policy)

    def _probe_worker(self, port: int, secret: str) -> Probe:
        async def probe(pid: int) -> Health | None:
            headers = {"Authorization": f"Bearer {secret}"}
            response = await self._get(f"http://{LOOPBACK}:{port}/health", headers)
            return worker_health(response, pid) if response is not None else None

        return probe

    async def _probe_gateway(self, pid: int) -> Health | None:
        response = await self._get(f"{self._plan.url}/health")
        return Health(healthy=True) if response is not None and response.is_success else None

    async def _get(self, url: str, headers: dict[str, str] | None = None) -> httpx.Response | None:
        try:
            return await self._client.get(url, headers=headers)
        except httpx.TransportError:
            return None

    async def _announce_when_ready(self) -> None:
        while True:
            response = await self._get(f"{self._plan.url}/ready")
            if response is not None and response.is_success:
                break
            await asyncio.sleep(self._plan.policy.probe_interval_seconds)
        everywhere = " (on every address of this machine)" if self._plan.host in ANY_ADDRESS else ""
        self._console.say(f"VoxFleet is ready: {self._plan.url}{everywhere}", "bold green")
        if token := self._admin_token():
            self._console.say(f"the fleet, for you alone: {self._plan.url}/admin#token={token}")

    def _admin_token(self) -> str | None:
        """The one that the gateway made and keeps; what the settings say is known to who wrote them.

        What stands behind `#` stays in the browser: no server gets or logs it.
        """
        if self._plan.data_dir is None:
            return None
        try:
            return read_secret(self._plan.data_dir / ADMIN_TOKEN)
        except (OSError, ValueError) as error:
            self._console.say(f"the admin token cannot be read: {error}", "red")
            return None

    def on_line(self, service: Service, line: str) -> None:
        self._console.on_line(service, line)

    def on_health(self, service: Service, health: Health) -> None:
        self._console.on_health(service, health)
        if self._overseer is not None and service is not self._gateway:
            self._overseer.on_health(service.name, health)

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        """Tells the user, or gives up when nothing is left to hope for."""
        if self._gateway.hopeless:
            self._end(f"the gateway {reason}")
        elif self._overseer is None and all(worker.hopeless for worker in self._workers.values()):
            self._end(f"no worker starts; {service.name} {reason}")
        else:
            self._console.on_down(service, reason, delay_seconds)
            if self._overseer is not None and service is not self._gateway:
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
        """The gateway first, so that it can let running streams finish while their workers still live."""
        await self._gateway.stop(self._plan.shutdown_seconds + LAST_WORDS_SECONDS)
        await asyncio.gather(*(worker.stop(WORKER_GRACE_SECONDS) for worker in self._workers.values()))


def worker_health(response: httpx.Response, pid: int) -> Health:
    """Reads the `/health` of the worker with process id `pid`; what answers like no worker, or another,
    failed.
    """
    try:
        status = WorkerStatus.model_validate_json(response.content)
    except ValueError:
        return Health(error=f"answers like no worker (HTTP {response.status_code})")
    if status.pid != pid:
        return Health(error=f"finds its port held by process {status.pid}")
    if status.state is WorkerState.ERROR:
        return Health(error=f"failed: {status.error}")
    if status.state is WorkerState.LOADING:
        loading = status.loading
        return Health(stage=loading.stage if loading else "", progress=loading.progress if loading else None)
    return Health(healthy=True)


async def supervise(plan: ServePlan) -> int:
    """Serves until stopped; returns the exit code."""
    with ServeConsole() as console:
        return await Supervisor(plan, console).run()
