"""What `voxfleet fleet up` is given, checked: fleet file, settings, what gateway and workers will read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from gateway.files.kept_secrets import ADMIN_TOKEN, kept_secret
from gateway.settings import GatewaySettings
from voxfleet.fleet.file import FleetFile, ObjectiveSection
from voxfleet.processes import ports
from voxfleet.serving.supervisor import ServePlan
from voxfleet.settings import ServeSettings, SettingsError, check_children, problems_of
from worker.settings import WorkerSettings

HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class Given:
    """What `voxfleet fleet up` was given, checked."""

    file: FleetFile
    settings: ServeSettings
    gateway: GatewaySettings
    worker: WorkerSettings
    config: Path | None

    def admin_token(self) -> str:
        """The token that opens the gateway's API; made if there is none."""
        given = self.gateway.admin_token
        if given is not None:
            return given.get_secret_value()
        return kept_secret(self.gateway.data_dir, ADMIN_TOKEN)

    def _ports(self, host: str) -> list[int]:
        if not self.settings.port:
            chosen: set[int] = set()
            while len(chosen) < self.file.gateways:
                chosen.add(ports.any_free(host))
            return sorted(chosen)
        found = [self.settings.port + number for number in range(self.file.gateways)]
        if found[-1] > HIGHEST_PORT:
            raise SettingsError(f"port: {len(found)} gateways need as many ports, up to {HIGHEST_PORT}")
        for port in found:
            ports.ensure_free(host, port)
        return found

    def plan(self, host: str, gateway_environment: dict[str, str] | None = None) -> ServePlan:
        """A plan of gateways that listen there, each on the port after the last one's. Raises PortError."""
        first, *others = self._ports(host)
        return ServePlan(
            host=host,
            port=first,
            more_ports=tuple(others),
            config=self.config,
            data_dir=self.gateway.data_dir if self.gateway.admin_token is None else None,
            shutdown_seconds=self.settings.shutdown_seconds,
            gateway_environment={**self.file.gateway_variables(), **(gateway_environment or {})},
        )


def _check_gateways(file: FleetFile, gateway: GatewaySettings) -> None:
    if file.gateways > 1 and gateway.database.startswith("sqlite"):
        raise SettingsError(
            f"gateways: {file.gateways} need a database that they share: set gateway.database_url to one of"
            " PostgreSQL"
        )


def check_given(file: FleetFile, settings: ServeSettings, config: Path | None) -> Given:
    """Raises SettingsError."""
    gateway, worker = check_children(config)
    if gateway.tls_certificate is not None:
        raise SettingsError(
            "gateway.tls_certificate: the workers of a fleet dial in without TLS; use a proxy"
        )
    if gateway.worker_secrets:
        raise SettingsError("gateway.worker_secrets: the workers of a fleet share one secret")
    _check_gateways(file, gateway)
    file = file.model_copy(update={"objective": _objective(file, gateway)})
    return Given(file, settings, gateway, worker, config)


def _objective(file: FleetFile, gateway: GatewaySettings) -> ObjectiveSection:
    try:
        return file.objective.or_those_of(gateway)
    except ValidationError as error:
        raise SettingsError(f"the gateway's objective does not fit a fleet: {problems_of(error)}") from None
