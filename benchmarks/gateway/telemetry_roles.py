"""`python -m benchmarks.gateway.telemetry_roles gateway ...`: a gateway whose telemetry changes by signals.

SIGRTMIN gives it the first of `ROLES`, SIGRTMIN + 1 the second, and so on. "off" does what a gateway without
telemetry does: no span begins, no log event is told, no metrics are collected. What was told before is sent
at once, so that each role pays for its own.
"""

from __future__ import annotations

import signal
from typing import Any

from telemetry.log_sinks import SINKS, Sink
from telemetry.otlp.exports import Exports
from telemetry.otlp.traces import OtlpTracing
from telemetry.settings import TelemetrySettings
from telemetry.spans import Tracing
from voxfleet.cli import main

ROLES = ("off", "default", "everything")
_EVERYTHING = {"trace_share": 1.0, "trace_most_per_second": 10_000.0}


def role_signal(role: str) -> int:
    """Gives a process this role."""
    return signal.SIGRTMIN + ROLES.index(role)


class Roles:
    """Takes the place of `exports` in turns."""

    def __init__(self, exports: Exports, settings: TelemetrySettings) -> None:
        assert isinstance(exports.tracing, OtlpTracing)
        self._exports, self._tracing = exports, exports.tracing
        self._settings = settings
        self._begin, self._note_metrics = self._tracing.begin, exports.note_metrics
        self._sinks: list[Sink] = []
        for role in ROLES:
            signal.signal(role_signal(role), lambda *_, role=role: self.play(role))

    def play(self, role: str) -> None:
        """From now on."""
        on = role != "off"
        self._sinks = self._sinks or list(SINKS)
        SINKS[:] = self._sinks if on else []
        settings = self._settings.model_copy(update=_EVERYTHING if role == "everything" else {})
        decided = OtlpTracing(settings, self._tracing._take)
        vars(self._tracing).update(vars(decided), on=on)
        self._tracing.begin = self._begin if on else Tracing().begin  # type: ignore[method-assign]
        self._exports.note_metrics = self._note_metrics if on else _forget  # type: ignore[method-assign]
        self._exports.sender.wake()


def _forget() -> None:
    """Nobody is told."""


def install() -> None:
    """Put the roles between this process and its telemetry."""
    begin = Exports.__init__

    def watched(self: Exports, settings: TelemetrySettings, *more: Any) -> None:
        begin(self, settings, *more)
        Roles(self, settings)

    Exports.__init__ = watched  # type: ignore[method-assign]


if __name__ == "__main__":
    install()
    main()
