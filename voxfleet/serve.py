"""From settings to a `ServePlan`: everything that can be known to fail is refused here, before a process
starts.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from voxfleet import ports
from voxfleet.devices import available_cpus, place_workers, visible_gpus
from voxfleet.settings import ServeSettings
from voxfleet.supervisor import LOOPBACK, ServePlan, supervise
from worker import settings as worker_settings


class ModelMissingError(RuntimeError):
    """The model to serve is not on this machine and is no repository id either."""


def serve(settings: ServeSettings, config: Path | None = None) -> int:
    """Runs gateway and workers until stopped; returns the exit code.

    Raises PortError, DeviceError or ModelMissingError, with a message for the user, when that is hopeless.
    """
    return asyncio.run(supervise(make_plan(settings, config)))


def make_plan(settings: ServeSettings, config: Path | None = None) -> ServePlan:
    """Decides ports and devices; raises as `serve` does."""
    model = settings.model or worker_settings.load_settings(config).model
    check_model(model)
    if settings.port:
        ports.ensure_free(settings.host, settings.port)
    gpus = [] if settings.device == "cpu" or model == "synthetic" else visible_gpus()
    placements = place_workers(settings.workers, settings.device, gpus, available_cpus())
    return ServePlan(
        host=settings.host,
        port=settings.port or ports.any_free(settings.host),
        model=model,
        worker_ports=tuple(ports.find_free(LOOPBACK, settings.first_worker_port, len(placements))),
        placements=tuple(placements),
        config=config,
        shutdown_seconds=settings.shutdown_seconds,
    )


def check_model(model: str) -> None:
    """Refuses a directory that is not there. A repository id can only be looked up by the worker that loads
    it.
    """
    if model == "bundled":
        directory = bundled_directory()
        if not (directory / "config.json").is_file():
            raise ModelMissingError(
                f"the bundled voice is missing from this checkout: no {directory}/config.json"
            )
    elif model != "synthetic" and looks_like_path(model) and not Path(model).expanduser().is_dir():
        raise ModelMissingError(f"no such model directory: {model}")


def bundled_directory() -> Path:
    """Where the voice that ships with VoxFleet lies, whether or not it is there."""
    return Path(__file__).resolve().parent.parent / "models" / "voxcpm" / "bundled"


def looks_like_path(model: str) -> bool:
    """Repository ids are `name` or `owner/name`; what starts like a path or has more parts is a directory."""
    return model.startswith(("/", ".", "~")) or model.count("/") > 1
