"""`python -m benchmarks.gateway.toggled gateway ...`: SIGUSR2 turns its telemetry off, and on again.

Off, it does what a gateway without telemetry does: no span begins, no log event is told, no metrics are
collected.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import Any

from telemetry.log_sinks import SINKS, Sink
from telemetry.otlp.exports import Exports
from telemetry.otlp.traces import OtlpTracing
from telemetry.settings import TelemetrySettings
from telemetry.spans import Tracing
from voxfleet.cli import main


class Switch:
    """Telemetry of this process as it comes, or none."""

    def __init__(self) -> None:
        self.on = True
        self._sinks: list[Sink] = []
        self._begin = OtlpTracing.begin
        self._export = Exports._export

    def toggle(self, *_: object) -> None:
        """Handler of the signal."""
        self.on = not self.on
        self._sinks, SINKS[:] = list(SINKS), self._sinks
        OtlpTracing.on = self.on
        OtlpTracing.begin = self._begin if self.on else Tracing.begin  # type: ignore[method-assign]
        Exports._export = self._export if self.on else _forget  # type: ignore[method-assign]

    def collected(self, collect: Callable[[], Iterable[Any]]) -> Iterable[Any]:
        """The families of metrics; none while it is off."""
        return collect() if self.on else ()


def _forget(self: Exports, families: Iterable[Any]) -> None:
    """Nobody is told."""


def install() -> None:
    """Put the switch between this process and its telemetry."""
    switch, begin = Switch(), Exports.__init__

    def watched(
        self: Exports, settings: TelemetrySettings, service: str, collect: Callable[[], Iterable[Any]]
    ) -> None:
        begin(self, settings, service, lambda: switch.collected(collect))

    Exports.__init__ = watched  # type: ignore[method-assign]
    signal.signal(signal.SIGUSR2, switch.toggle)


if __name__ == "__main__":
    install()
    main()
