"""Entry point of a worker process: `voxfleet worker --port 22400 --model synthetic --slots 8`."""

from __future__ import annotations

import sys
from pathlib import Path

from telemetry.process import TelemetryMissingError, check_installed
from worker.log import configure_logging
from worker.server import serve
from worker.settings import SettingsError, load_settings


def run(
    *,
    config: Path | str | None = None,
    host: str | None = None,
    port: int | None = None,
    device: str | None = None,
    model: str | None = None,
    slots: int | None = None,
    step_ms: float | None = None,
    worker_id: str | None = None,
    gateway_urls: str | None = None,
    advertised_url: str | None = None,
    log_format: str | None = None,
) -> int:
    """Run a worker until SIGTERM or SIGINT; the exit status of the process.

    Options that are None come from the environment (`VOXFLEET_WORKER_...`, the secret always) or from the
    section `worker` of the YAML file `config`. 0: ended as asked; 1: the address is taken or the model did
    not load; 2: a wrong setting.
    """
    try:
        settings = load_settings(
            config,
            host=host,
            port=port,
            device=device,
            model=model,
            slots=slots,
            step_ms=step_ms,
            worker_id=worker_id,
            gateway_urls=gateway_urls,
            advertised_url=advertised_url,
            log_format=log_format,
        )
    except SettingsError as error:
        print(f"voxfleet worker: {error}", file=sys.stderr)
        return 2
    try:
        check_installed(settings)
    except TelemetryMissingError as error:
        print(f"voxfleet worker: otlp_endpoint: {error}", file=sys.stderr)
        return 2
    configure_logging(settings.log_format, settings.log_level)
    try:
        return serve(settings)
    except OSError as error:
        print(f"voxfleet worker: cannot listen on {settings.host}:{settings.port}: {error}", file=sys.stderr)
        return 1
