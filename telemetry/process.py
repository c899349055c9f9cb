"""Telemetry of a process from its start to its end.

telemetry = Telemetry(settings, "voxfleet-gateway", registry.collect)
async with telemetry.running():
    telemetry.tracing.begin(...)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from telemetry.settings import TelemetrySettings
from telemetry.spans import Tracing


class TelemetryMissingError(Exception):
    """The extra is not installed."""


def check_installed(settings: TelemetrySettings) -> None:
    """Raises TelemetryMissingError where telemetry is asked for and cannot be had."""
    if settings.otlp_endpoint and not is_installed():
        raise TelemetryMissingError(
            "needs the extra `otel`: VOXFLEET_EXTRAS=otel ./start_all.sh --install-only"
        )


def is_installed() -> bool:
    """Whether the SDK and the exporter are there."""
    names = (
        "opentelemetry",
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "opentelemetry.exporter.otlp.proto.http",
    )
    try:
        return all(find_spec(name) for name in names)
    except ModuleNotFoundError:
        return False


class Telemetry:
    """What a process tells, where settings name somebody to tell it to."""

    def __init__(
        self, settings: TelemetrySettings, service: str, collect: Callable[[], Iterable[Any]]
    ) -> None:
        """`collect`: the families of metrics of `prometheus_client`, now; called in the event loop.

        Raises TelemetryMissingError.
        """
        check_installed(settings)
        self.tracing = Tracing()
        self._exports = None
        if settings.otlp_endpoint:
            from telemetry.otlp.exports import Exports

            self._exports = Exports(settings, service, collect)
            self.tracing = self._exports.tracing

    @property
    def on(self) -> bool:
        """Whether anything is told to anybody."""
        return self._exports is not None

    def dropped(self) -> Iterator[tuple[str, str, int]]:
        """Signal, reason and number of what was to be told and reached nobody; nothing where it is off."""
        return iter(()) if self._exports is None else self._exports.dropped()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Metrics and logs go out for as long as the block lasts; what waits is sent at its end."""
        if self._exports is None:
            yield
            return
        async with self._exports.running():
            yield
