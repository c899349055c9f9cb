"""One worker process under supervision, wherever it is started: its command, environment and probe."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from voxfleet.processes.child_process import voxfleet_command
from voxfleet.processes.devices import Placement
from voxfleet.processes.ports import HeldPort
from voxfleet.processes.service import Health, Probe, RestartPolicy, Service, ServiceObserver
from worker.protocol import WorkerState, WorkerStatus

LOOPBACK = "127.0.0.1"
PROBE_TIMEOUT_SECONDS = 2.0
SECRET_VARIABLE = "VOXFLEET_WORKER_SECRET"
GATEWAYS_VARIABLE = "VOXFLEET_WORKER_GATEWAY_URLS"
WORKER_ID_VARIABLE = "VOXFLEET_WORKER_WORKER_ID"
SUPERVISED_VARIABLE = "VOXFLEET_WORKER_SUPERVISED"
WORKER_GRACE_SECONDS = 5.0
ANY_ADDRESS = {"0.0.0.0": LOOPBACK, "::": "::1"}


def url_of(host: str, port: int, secure: bool = False) -> str:
    """Where this machine finds a server that listens there."""
    host = ANY_ADDRESS.get(host, host)
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


@dataclass(frozen=True)
class WorkerPlan:
    """How one worker is started."""

    name: str
    port: int
    model: str
    placement: Placement
    slots: int | None = None
    """None leaves it to the worker's own settings."""
    gateway_urls: tuple[str, ...] = ()
    """Where it dials in by its name. Empty: the gateway knows it from its own settings."""
    host: str = LOOPBACK
    """Where it listens, and is found."""
    config: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Settings that come from elsewhere."""
    held: HeldPort | None = None
    """What keeps others from `port` while there is this plan."""

    @property
    def url(self) -> str:
        """The URL at which the worker is found."""
        return url_of(self.host, self.port)


def worker_service(
    worker: WorkerPlan,
    secret: str,
    http: httpx.AsyncClient,
    observer: ServiceObserver,
    policy: RestartPolicy | None = None,
) -> Service:
    """`secret` travels by environment, never on a command line. `http` is what it is probed with."""
    placement = worker.placement
    command = voxfleet_command(
        "worker", host=worker.host, port=worker.port, device=placement.device, model=worker.model,
        slots=worker.slots, config=worker.config,
    )  # fmt: skip
    environment = {**worker.environment, SECRET_VARIABLE: secret, SUPERVISED_VARIABLE: "1"}
    environment |= placement.environment
    if worker.gateway_urls:
        environment |= {GATEWAYS_VARIABLE: ",".join(worker.gateway_urls), WORKER_ID_VARIABLE: worker.name}
    probe = _probe(worker.url, secret, http)
    return Service(worker.name, command, environment, probe, observer, policy or RestartPolicy())


def given_secret() -> str | None:
    """The secret that the environment names for workers and gateways."""
    return os.environ.get(SECRET_VARIABLE)


def _probe(url: str, secret: str, http: httpx.AsyncClient) -> Probe:
    headers = {"Authorization": f"Bearer {secret}"}

    async def probe(pid: int) -> Health | None:
        response = await answer_of(http, f"{url}/health", headers)
        return worker_health(response, pid) if response is not None else None

    return probe


async def answer_of(
    http: httpx.AsyncClient, url: str, headers: Mapping[str, str] | None = None
) -> httpx.Response | None:
    """None where nobody answers."""
    try:
        return await http.get(url, headers=headers)
    except httpx.TransportError:
        return None


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
