"""From settings to a `ServePlan`. What is bound to fail is refused here, before the first process starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from voxfleet import ports
from voxfleet.devices import Placement, place_workers, visible_gpus
from voxfleet.model_source import check_model
from voxfleet.settings import ServeSettings, check_children
from voxfleet.supervisor import ServePlan, supervise
from voxfleet.worker_service import LOOPBACK


def serve(settings: ServeSettings, config: Path | None = None) -> int:
    """Runs gateway and workers until stopped; returns the exit code.

    Raises SettingsError, PortError, DeviceError or ModelMissingError, worded for the user, when that is
    hopeless.
    """
    return asyncio.run(supervise(make_plan(settings, config)))


def make_plan(settings: ServeSettings, config: Path | None = None) -> ServePlan:
    """Decides model, ports and devices; raises as `serve` does."""
    gateway, worker = check_children(config)
    model = settings.model or worker.model
    check_model(model)
    if settings.port:
        ports.ensure_free(settings.host, settings.port)
    placements = plan_placements(settings, model)
    return ServePlan(
        host=settings.host,
        port=settings.port or ports.any_free(settings.host),
        model=model,
        worker_ports=tuple(ports.find_free(LOOPBACK, settings.first_worker_port, len(placements))),
        placements=tuple(placements),
        config=config,
        secure=gateway.tls_certificate is not None,
        data_dir=gateway.data_dir if gateway.admin_token is None else None,
        shutdown_seconds=settings.shutdown_seconds,
    )


def plan_placements(settings: ServeSettings, model: str) -> list[Placement]:
    """A placement per worker; the synthetic model computes nothing that a GPU could."""
    device = "cpu" if model == "synthetic" else settings.device
    gpus = [] if device == "cpu" else visible_gpus()
    return place_workers(settings.workers, device, gpus)
