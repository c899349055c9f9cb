"""From settings to a `ServePlan`. What is bound to fail is refused here, before the first process starts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from voxfleet.model_source import check_model
from voxfleet.processes import ports
from voxfleet.processes.devices import Placement, over_ranks, place_workers, visible_gpus
from voxfleet.processes.worker_service import LOOPBACK, WorkerPlan
from voxfleet.serving.supervisor import ServePlan, supervise
from voxfleet.settings import ServeSettings, check_children

TRAINING_VARIABLE = "VOXFLEET_TRAINING_BASE"
MEMORY_VARIABLE = "VOXFLEET_WORKER_GPU_MEMORY_UTILIZATION"


def serve(settings: ServeSettings, config: Path | None = None) -> int:
    """Runs gateway and workers until stopped; returns the exit code.

    Raises SettingsError, PortError, DeviceError or ModelMissingError, worded for the user, when that is
    hopeless.
    """
    return asyncio.run(supervise(make_plan(settings, config)))


def make_plan(settings: ServeSettings, config: Path | None = None) -> ServePlan:
    """Decides models, ports and devices; raises as `serve` does."""
    gateway, worker = check_children(config)
    model = settings.model or worker.model
    for named in filter(None, (model, settings.text_model)):
        check_model(named)
    if settings.port:
        ports.ensure_free(settings.host, settings.port)
    return ServePlan(
        host=settings.host,
        port=settings.port or ports.any_free(settings.host),
        workers=plan_workers(settings, model, config, worker.tensor_parallel_size),
        config=config,
        secure=gateway.tls_certificate is not None,
        data_dir=gateway.data_dir if gateway.admin_token is None else None,
        shutdown_seconds=settings.shutdown_seconds,
        gateway_environment=training_environment(model, gateway.training_base),
    )


def training_environment(model: str, named: str | None) -> dict[str, str]:
    """What is trained beside this: what is served, unless the settings name it, or it is no model."""
    return {} if named is not None or model == "synthetic" else {TRAINING_VARIABLE: model}


def plan_workers(
    settings: ServeSettings, model: str, config: Path | None = None, ranks: int = 1
) -> tuple[WorkerPlan, ...]:
    """Plan the workers of `model`, over `ranks` processes each, and those of the text model, if there is one.

    Each worker has a port and a placement of its own.
    """
    speaking, writing = plan_placements(settings, model, ranks)
    found = ports.hold_free(LOOPBACK, settings.first_worker_port, len(speaking) + len(writing))
    speech = [
        WorkerPlan(f"worker-{index}", port.number, model, placement, config=config, held=port)
        for index, (port, placement) in enumerate(zip(found, speaking, strict=False))
    ]
    text = [
        WorkerPlan(
            f"text-{index}",
            port.number,
            settings.text_model,
            placement,
            settings.text_slots,
            config=config,
            held=port,
        )
        for index, (port, placement) in enumerate(zip(found[len(speaking) :], writing, strict=True))
    ]
    return (*speech, *text)


def plan_placements(
    settings: ServeSettings, model: str, ranks: int = 1
) -> tuple[list[Placement], list[Placement]]:
    """Place the workers of `model`, over `ranks` processes each, and those of the text model.

    The synthetic model needs no GPU. Raises DeviceError.
    """
    texts = settings.text_workers if settings.text_model is not None else 0
    each = settings.text_tensor_parallel_size
    gpus = [] if settings.device == "cpu" or (model == "synthetic" and not texts) else visible_gpus()
    device = "cpu" if model == "synthetic" else settings.device
    if settings.device == "cpu" or not gpus:
        speaking, writing = place_on_cpu(settings.workers, texts, settings.device if texts else device, ranks)
        return speaking, [over_ranks(place, each, ranks) for place in writing]
    taken = texts * each
    apart = len(gpus) > taken
    speaking = place_workers(settings.workers, device, gpus[:-taken] if texts and apart else gpus, ranks)
    writing = place_workers(texts, settings.device, gpus[-taken:] if apart else gpus, each) if texts else []
    writing = [over_ranks(place, each, ranks) for place in writing]
    return speaking, writing if apart else [sharing(placement) for placement in writing]


def place_on_cpu(
    workers: int | str, texts: int, device: str, ranks: int = 1
) -> tuple[list[Placement], list[Placement]]:
    """Where the workers of speech, and where the `texts` of text, run: all share the CPU's cores.

    ranks: over how many processes a worker of speech shares its model out. Raises DeviceError for a GPU that
    is not there.
    """
    count = 1 if workers == "auto" else int(workers)
    places = place_workers(count + texts, device, [])
    return [over_ranks(place, ranks) for place in places[:count]], places[count:]


def sharing(placement: Placement) -> Placement:
    """On a GPU beside a worker of speech: half of its memory, unless the environment says how much."""
    share = {MEMORY_VARIABLE: os.environ.get(MEMORY_VARIABLE, "0.5")}
    return Placement(placement.device, {**placement.environment, **share})
