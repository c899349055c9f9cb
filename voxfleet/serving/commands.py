"""`voxfleet serve`, and each of its processes by itself. A command loads what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from voxfleet.commands.options import ConfigOption, Device, HostOption, ModelOption, PortOption, fail
from voxfleet.loading import loading


def serve(
    config: ConfigOption = None,
    host: HostOption = None,
    port: PortOption = None,
    workers: Annotated[
        str | None, typer.Option(help="Number of workers, or auto: one per GPU, else one.")
    ] = None,
    device: Annotated[Device | None, typer.Option(help="What workers run on. \\[default: auto]")] = None,
    model: ModelOption = None,
    text_model: Annotated[
        str | None, typer.Option(help="A text model, served beside speech: a directory or a Hugging Face id.")
    ] = None,
) -> None:
    """Run a gateway and its workers here, and restart what dies."""
    with loading():
        from voxfleet.model_source import ModelMissingError
        from voxfleet.processes.devices import DeviceError
        from voxfleet.processes.ports import PortError
        from voxfleet.serving.serve import serve as serve_until_stopped
        from voxfleet.settings import SettingsError, load_settings

    try:
        settings = load_settings(
            config, host=host, port=port, workers=workers, device=device, model=model, text_model=text_model
        )
        exit_code = serve_until_stopped(settings, config)
    except SettingsError as error:
        fail(error, 2)
    except (PortError, DeviceError, ModelMissingError) as error:
        fail(error)
    raise typer.Exit(exit_code)


def gateway(
    workers: Annotated[
        str | None, typer.Option(help="Base URLs of the workers, with commas between them.")
    ] = None,
    config: ConfigOption = None,
    host: HostOption = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. \\[default: 8006]")] = None,
    max_queue: Annotated[
        int | None, typer.Option(help="Requests that may wait for a slot. \\[default: 1000]")
    ] = None,
) -> None:
    """Run one gateway. Secrets come from the environment: VOXFLEET_WORKER_SECRET, VOXFLEET_ADMIN_TOKEN."""
    with loading():
        from gateway.cli import run

    raise typer.Exit(run(config=config, workers=workers, host=host, port=port, max_queue=max_queue))


def worker(
    config: ConfigOption = None,
    host: HostOption = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. \\[default: 22400]")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto. \\[default: auto]")] = None,
    model: ModelOption = None,
    slots: Annotated[int | None, typer.Option(help="Requests served at a time. \\[default: 4]")] = None,
    step_ms: Annotated[
        float | None, typer.Option(help="Synthetic model: milliseconds per step. \\[default: 40]")
    ] = None,
    gateways: Annotated[
        str | None, typer.Option(help="Base URLs of gateways to dial in at, with commas between them.")
    ] = None,
    advertise: Annotated[
        str | None, typer.Option(help="Where gateways reach this worker. \\[default: its host and port]")
    ] = None,
) -> None:
    """Run one worker. Its secret comes from VOXFLEET_WORKER_SECRET, or a file in VOXFLEET_SECRETS_DIR."""
    with loading():
        from worker.cli import run

    raise typer.Exit(
        run(
            config=config,
            host=host,
            port=port,
            device=device,
            model=model,
            slots=slots,
            step_ms=step_ms,
            gateway_urls=gateways,
            advertised_url=advertise,
        )
    )


def drain(
    wait_seconds: Annotated[float, typer.Option(min=0, help="How long to wait.")] = 60.0,
    port: Annotated[int | None, typer.Option(help="The worker's port. \\[default: 22400]")] = None,
    config: ConfigOption = None,
) -> None:
    """Have the worker of this machine take nothing new, and wait until it has finished what it has."""
    from worker.drain import run

    raise typer.Exit(run(config=config, port=port, wait_seconds=wait_seconds))
