"""`voxfleet serve`: a gateway and its workers as child processes, kept alive, ended together.

The supervisor plans (which ports, which device for which worker), starts everything at once, prints the URL
when the gateway says that it can take requests, and from then on restarts what dies. Workers listen on
loopback and share a secret with the gateway that is made here and travels by environment, never on a command
line.

It ends with 0 after Ctrl-C or SIGTERM, and with 1 when it cannot serve: the gateway, or every worker, failed
to start several times in a row.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from dataclasses import dataclass, field
from pathlib import Path

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
SUPERVISED_VARIABLE = "VOXFLEET_WORKER_SUPERVISED"
LAST_WORDS_SECONDS = 3.0
"""What the gateway gets on top, to tell its last clients that it goes."""
WORKER_GRACE_SECONDS = 5.0
ANY_ADDRESS = {"0.0.0.0": LOOPBACK, "::": "::1"}


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
    policy: RestartPolicy = field(default_factory=RestartPolicy)

    @property
    def url(self) -> str:
        """Where this machine finds the server."""
        host = ANY_ADDRESS.get(self.host, self.host)
        scheme = "https" if self.secure else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


class Supervisor:
    """Runs a `ServePlan` until it is told to stop or finds that it cannot serve."""

    def __init__(self, plan: ServePlan, console: ServeConsole) -> None:
        self._plan = plan
        self._console = console
        self._outcome: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        # A certificate names another host than the loopback address at which the gateway is probed.
        self._client = httpx.AsyncClient(
            timeout=PROBE_TIMEOUT_SECONDS, trust_env=False, verify=not plan.secure
        )
        secret = os.environ.get(SECRET_VARIABLE) or secrets.token_urlsafe(32)
        self._workers = [
            self._worker(index, port, placement, secret)
            for index, (port, placement) in enumerate(zip(plan.worker_ports, plan.placements, strict=True))
        ]
        self._gateway = self._gateway_service(secret)

    async def run(self) -> int:
        """Serves; returns the exit code."""
        self._handle_signals()
        tasks = [service.start() for service in self._services]
        ready = asyncio.create_task(self._announce_when_ready())
        for task in [*tasks, ready]:
            task.add_done_callback(self._on_task_done)
        try:
            failure = await self._outcome
            self._console.say(f"cannot serve: {failure}" if failure else "stopping", "red" if failure else "")
        finally:
            ready.cancel()
            await self._stop_children()
            await self._client.aclose()
        return 1 if failure else 0

    @property
    def _services(self) -> list[Service]:
        return [*self._workers, self._gateway]

    def _worker(self, index: int, port: int, placement: Placement, secret: str) -> Service:
        plan = self._plan
        command = voxfleet_command(
            "worker", host=LOOPBACK, port=port, device=placement.device, model=plan.model, config=plan.config
        )
        environment = {SECRET_VARIABLE: secret, SUPERVISED_VARIABLE: "1", **placement.environment}
        probe = self._probe_worker(port, secret)
        return Service(f"worker-{index}", command, environment, probe, self, plan.policy)

    def _gateway_service(self, secret: str) -> Service:
        plan = self._plan
        workers = ",".join(f"http://{LOOPBACK}:{port}" for port in plan.worker_ports)
        command = voxfleet_command(
            "gateway", host=plan.host, port=plan.port, workers=workers, config=plan.config
        )
        environment = {SECRET_VARIABLE: secret, "VOXFLEET_SHUTDOWN_SECONDS": str(plan.shutdown_seconds)}
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

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        """Tells the user, or gives up when nothing is left to hope for."""
        if self._gateway.hopeless:
            self._end(f"the gateway {reason}")
        elif all(worker.hopeless for worker in self._workers):
            self._end(f"no worker starts; {service.name} {reason}")
        else:
            self._console.on_down(service, reason, delay_seconds)

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
        await asyncio.gather(*(worker.stop(WORKER_GRACE_SECONDS) for worker in self._workers))


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
