"""`voxfleet fleet up` with `place: ray`: its gateways here, its controller and its workers in the cluster.

No gateway is an actor. Its database, its recordings and its address belong to this machine, and a process
that belongs to Ray ends with Ray's head. So this process enters the cluster, makes the controller, leaves,
and supervises the gateways; it comes back to end the fleet. Where the fleet runs already, it is told the
file.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import ray

from gateway.edge.addresses import Networks
from gateway.files.kept_secrets import kept_secret
from gateway.settings.workers import PRIVATE_NETWORKS
from voxfleet.fleet.desk import Counter, DeskError
from voxfleet.fleet.desks import Desks, desks_of
from voxfleet.fleet.given import Given
from voxfleet.fleet.place import PlaceError
from voxfleet.fleet.ray import actors, cluster
from voxfleet.fleet.ray.assignment import Assignment, Folder
from voxfleet.fleet.ray.controller import FleetController
from voxfleet.processes.service import Health
from voxfleet.processes.worker_service import ANY_ADDRESS
from voxfleet.serving.console import ServeConsole
from voxfleet.serving.supervisor import ServePlan, Supervisor
from voxfleet.settings import SettingsError
from worker.settings import WorkerSettings

WORKER_SECRET = "worker-secret"
"""File of what workers and gateway show each other where no other is set."""
_ANSWER_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_OF_THE_PLACE = frozenset(
    {
        *("host", "port", "secret", "worker_id", "gateway_urls", "gateway_dns_url", "advertised_url"),
        *(
            "model",
            "device",
            "slots",
            "tensor_parallel_size",
            "supervised",
            "workers_on_machine",
            "otlp_headers",
        ),
    }
)
"""Settings of workers that are decided here, or secret."""


def up(given: Given) -> int:
    """Runs the gateways until they are stopped; returns the exit code.

    Raises SettingsError, PortError or PlaceError, worded for the user, when that is hopeless.
    """
    section = given.file.ray
    own_cluster = cluster.enter(section)
    serving = None
    try:
        if not _told_a_running_one(given):
            serving = _begin(given)
    finally:
        if serving is None or not own_cluster:
            cluster.leave()
    return 0 if serving is None else _serve(given, serving, own_cluster)


@dataclass(frozen=True)
class _Serving:
    plan: ServePlan
    admin_token: str
    worker_secret: str


def _told_a_running_one(given: Given) -> bool:
    """Whether the fleet runs; then it goes by the new file from now on. Raises PlaceError."""
    controller = actors.find(actors.CONTROLLER, given.file.ray.namespace)
    if controller is None:
        return False
    with cluster.translated("the controller of this fleet does not answer"):
        running: Assignment = ray.get(controller.assignment.remote(), timeout=_ANSWER_SECONDS)
        if not any(Counter(url, "").is_there() for url in running.desk_urls):
            return False
        changed = running.model_copy(update={"file": given.file, "settings": _settings(given.worker)})
        ray.get(controller.apply.remote(changed), timeout=_ANSWER_SECONDS)
    with ServeConsole() as console:
        where = ", ".join(running.gateway_urls)
        console.say(f"the fleet runs already, with its gateway at {where}; it has the new file")
    return True


def _begin(given: Given) -> _Serving:
    """Decide where the gateway listens, and have the controller go by the file.

    Raises SettingsError, PortError or PlaceError.
    """
    section = given.file.ray
    host = given.settings.host if "host" in given.settings.model_fields_set else cluster.here()
    _check_reach(host)
    serving = _Serving(given.plan(host, _networks(given)), given.admin_token(), _worker_secret(given))
    plan = serving.plan
    reached = replace(plan, host=cluster.here() if host in ANY_ADDRESS else host)
    assignment = Assignment(
        file=given.file, desk_urls=plan.urls, gateway_urls=reached.urls, settings=_settings(given.worker)
    )
    folder = Folder((given.gateway.data_dir / "ray" / section.namespace).resolve())
    folder.keep_secrets(serving.admin_token, serving.worker_secret)
    folder.keep(assignment)
    _assign(folder, assignment, section.namespace)
    return serving


def _assign(folder: Folder, assignment: Assignment, namespace: str) -> None:
    """To a new controller, or to one whose gateway is gone. Raises PlaceError."""
    controller = actors.make_controller(FleetController, str(folder.path), namespace)
    with cluster.translated("the controller does not start"):
        node = ray.get(controller.node.remote(), timeout=_ANSWER_SECONDS)
        if node != ray.get_runtime_context().get_node_id():
            raise PlaceError(
                "the controller of this fleet runs on another machine: run `voxfleet fleet up` there, or end"
                " the fleet with `voxfleet fleet down`"
            )
        ray.get(controller.apply.remote(assignment), timeout=_ANSWER_SECONDS)


def _check_reach(host: str) -> None:
    others = cluster.addresses() - {cluster.here()}
    if others and host in ("127.0.0.1", "::1", "localhost"):
        raise SettingsError(f"host: workers on {min(others)} cannot reach a gateway that listens on {host}")


def _networks(given: Given) -> dict[str, str]:
    """The gateway's setting, with the machines of the cluster where nobody chose the networks."""
    if "worker_networks" in given.gateway.model_fields_set:
        return {}
    private = Networks(PRIVATE_NETWORKS)
    public = sorted(address for address in cluster.addresses() if address not in private)
    return {"VOXFLEET_WORKER_NETWORKS": ",".join([*PRIVATE_NETWORKS, *public])}


def _worker_secret(given: Given) -> str:
    """The one of the settings, or one that stays for those who start this again beside running workers."""
    chosen = given.gateway.worker_secret
    if chosen is not None:
        return chosen.get_secret_value()
    return kept_secret(given.gateway.data_dir, WORKER_SECRET)


def _settings(worker: WorkerSettings) -> dict[str, str]:
    """What was chosen for workers on this machine, as variables of those in the cluster."""
    names = worker.model_fields_set - _OF_THE_PLACE
    chosen = worker.model_dump(mode="json", include=names, exclude_none=True)
    return {f"VOXFLEET_WORKER_{name.upper()}": _text(value) for name, value in chosen.items()}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# ------------------------------------------------------------------------------------------------ the gateway


def _serve(given: Given, serving: _Serving, own_cluster: bool) -> int:
    """The gateway, and at its end the end of the fleet."""
    section = given.file.ray
    try:
        return asyncio.run(_supervise(serving))
    finally:
        if not own_cluster:
            cluster.enter(section, may_start=False)
        try:
            cluster.end_fleet(section)
        finally:
            cluster.leave()


async def _supervise(serving: _Serving) -> int:
    async with desks_of(serving.plan.urls, serving.admin_token) as desks:
        with ServeConsole() as console:
            supervisor = Supervisor(serving.plan, console, serving.worker_secret)
            return await supervisor.run(_Watch(desks, console))


class _Watch:
    """An overseer that runs no worker: it waits for the order to end the fleet."""

    def __init__(self, desk: Desks, console: ServeConsole) -> None:
        self._desk, self._console = desk, console

    async def run(self) -> None:
        """Returns when an operator ends the fleet."""
        while not await self._is_over():  # noqa: ASYNC110 - it asks, and waits for nobody
            await asyncio.sleep(_LOOK_SECONDS)
        self._console.say("the fleet ends, by order")

    async def _is_over(self) -> bool:
        try:
            return await self._desk.is_over()
        except DeskError:
            return False  # it starts, or is being started again

    def on_health(self, worker: str, health: Health) -> None:
        """There are no workers here."""

    def on_down(self, worker: str, failed_starts: int) -> None:
        """There are no workers here."""
