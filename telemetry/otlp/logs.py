"""Log events as OpenTelemetry has them, each with the trace of the request that it is about.

They are those of standard error, which hold no text and no secret, without the names of voices, which users
give.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.trace import SpanContext, TraceFlags

from telemetry.spans import CURRENT

_SEVERITIES = {
    "debug": SeverityNumber.DEBUG,
    "info": SeverityNumber.INFO,
    "warning": SeverityNumber.WARN,
    "error": SeverityNumber.ERROR,
    "exception": SeverityNumber.ERROR,
    "critical": SeverityNumber.FATAL,
}
_LEFT_OUT = frozenset({"event", "level", "timestamp", "voice", "exc_info"})
_LONGEST = 4096
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class LogSink:
    """Takes log events; `telemetry.log_sinks` has who tells them."""

    def __init__(self, provider: LoggerProvider) -> None:
        self._logger = provider.get_logger("voxfleet")

    def __call__(self, level: str, event: Mapping[str, Any]) -> None:
        """Never waits."""
        fields = {name: _told(value) for name, value in event.items() if _is_told(name, value)}
        now = time.time_ns()
        self._logger.emit(
            LogRecord(
                timestamp=now,
                observed_timestamp=now,
                context=_context(),
                severity_text=level.upper(),
                severity_number=_SEVERITIES.get(level, SeverityNumber.INFO),
                body=_told(str(event.get("event", ""))),
                attributes=fields,
            )
        )


def _is_told(name: str, value: Any) -> bool:
    return value is not None and name not in _LEFT_OUT and not name.startswith("_")


def _told(value: Any) -> str | int | float | bool:
    return value if isinstance(value, bool | int | float) else str(value)[:_LONGEST]


def _context() -> trace.Context | None:
    ids = CURRENT.get().ids
    if ids is None:
        return None
    return trace.set_span_in_context(
        trace.NonRecordingSpan(SpanContext(*ids, is_remote=False, trace_flags=_SAMPLED))
    )
