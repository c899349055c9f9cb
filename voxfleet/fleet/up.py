"""`voxfleet fleet up` on this machine: a gateway, as many workers as are needed, and their controller."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
from pydantic import ValidationError

from gateway.kept_secrets import ADMIN_TOKEN, kept_secret
from gateway.settings import GatewaySettings
from voxfleet import ports
from voxfleet.console import ServeConsole
from voxfleet.devices import ensure_present, visible_gpus
from voxfleet.fleet.controller import Controller
from voxfleet.fleet.desk import Desk, admin_headers
from voxfleet.fleet.file import FleetFile, ObjectiveSection
from voxfleet.fleet.local import LocalOverseer, LocalPlace
from voxfleet.model_source import check_model
from voxfleet.settings import ServeSettings, SettingsError, check_children, problems_of
from voxfleet.supervisor import ServePlan, Supervisor


def up(file: FleetFile, settings: ServeSettings, config: Path | None = None) -> int:
    """Runs the fleet until it is stopped; returns the exit code.

    Raises SettingsError, PortError, DeviceError or ModelMissingError, worded for the user, when that is
    hopeless.
    """
    gateway, _ = check_children(config)
    if gateway.tls_certificate is not None:
        raise SettingsError(
            "gateway.tls_certificate: the workers of a fleet dial in without TLS; use a proxy"
        )
    if gateway.worker_secrets:
        raise SettingsError(
            "gateway.worker_secrets: workers of this machine share a secret that is made here"
        )
    file = file.model_copy(update={"objective": _objective(file, gateway)})
    for kind in file.workers.values():
        check_model(kind.model)
        if kind.device == "cuda":
            ensure_present("cuda")
    if settings.port:
        ports.ensure_free(settings.host, settings.port)
    on_gpus = any(kind.device != "cpu" and kind.model != "synthetic" for kind in file.workers.values())
    plan = ServePlan(
        host=settings.host,
        port=settings.port or ports.any_free(settings.host),
        model="",
        worker_ports=(),
        placements=(),
        config=config,
        data_dir=gateway.data_dir if gateway.admin_token is None else None,
        shutdown_seconds=settings.shutdown_seconds,
        gateway_environment=file.objective.gateway_variables(),
    )
    given = gateway.admin_token
    token = given.get_secret_value() if given is not None else kept_secret(gateway.data_dir, ADMIN_TOKEN)
    gpus = visible_gpus() if on_gpus else []
    return asyncio.run(_run(file, plan, token, gpus, settings.first_worker_port))


def _objective(file: FleetFile, gateway: GatewaySettings) -> ObjectiveSection:
    try:
        return file.objective.or_those_of(gateway)
    except ValidationError as error:
        raise SettingsError(f"the gateway's objective does not fit a fleet: {problems_of(error)}") from None


async def _run(file: FleetFile, plan: ServePlan, token: str, gpus: list[str], first_port: int) -> int:
    http = httpx.AsyncClient(base_url=plan.url, headers=admin_headers(token), trust_env=False)
    with ServeConsole() as console:
        supervisor = Supervisor(plan, console)
        place = LocalPlace(supervisor, file.workers, gpus, first_port)
        async with http:
            controller = Controller(file.rules(), place, Desk(http), console.say)
            return await supervisor.run(LocalOverseer(place, controller))
