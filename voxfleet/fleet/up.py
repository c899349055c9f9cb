"""`voxfleet fleet up`: its gateways here, as many workers as are needed, and their controller."""

from __future__ import annotations

import asyncio
from pathlib import Path

from voxfleet.fleet.controller import Controller
from voxfleet.fleet.desks import desks_of
from voxfleet.fleet.file import FleetFile
from voxfleet.fleet.file.ray import need_ray
from voxfleet.fleet.given import Given, check_given
from voxfleet.fleet.local import LocalOverseer, LocalPlace
from voxfleet.model_source import check_model
from voxfleet.processes.devices import ensure_present, teams_of, visible_gpus
from voxfleet.serving.console import ServeConsole
from voxfleet.serving.supervisor import ServePlan, Supervisor
from voxfleet.settings import ServeSettings


def up(file: FleetFile, settings: ServeSettings, config: Path | None = None) -> int:
    """Runs the fleet until it is stopped; returns the exit code.

    Raises SettingsError, PortError, DeviceError, ModelMissingError or PlaceError, worded for the user, when
    that is hopeless.
    """
    given = check_given(file, settings, config)
    if file.place == "ray":
        need_ray()
        from voxfleet.fleet.ray.up import up as up_in_a_cluster

        return up_in_a_cluster(given)
    return _up_here(given)


def _up_here(given: Given) -> int:
    kinds = given.file.workers.values()
    for kind in kinds:
        check_model(kind.model)
        if kind.device == "cuda":
            ensure_present("cuda")
    plan = given.plan(given.settings.host)
    on_gpus = any(kind.device != "cpu" and kind.model != "synthetic" for kind in kinds)
    gpus = visible_gpus() if on_gpus else []
    for kind in kinds:
        if gpus and kind.device != "cpu" and kind.model != "synthetic":
            teams_of(gpus, kind.tensor_parallel_size)
    return asyncio.run(_run(given.file, plan, given.admin_token(), gpus, given.settings.first_worker_port))


async def _run(file: FleetFile, plan: ServePlan, token: str, gpus: list[str], first_port: int) -> int:
    with ServeConsole() as console:
        supervisor = Supervisor(plan, console)
        place = LocalPlace(supervisor, file.workers, gpus, first_port)
        async with desks_of(plan.urls, token) as desks:
            controller = Controller(file.rules(), place, desks, console.say)
            return await supervisor.run(LocalOverseer(place, controller))
