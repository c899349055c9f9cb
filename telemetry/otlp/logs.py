"""Log events as OpenTelemetry has them, each with the trace of the request that it is about.

They are those of standard error, which hold no text and no secret, without the names of voices, which users
give. The SDK's own records take seven times as long to make: they check attributes that are plain here, and
hold a context to find a trace in.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import TraceFlags

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
_NOT_SAMPLED = TraceFlags(TraceFlags.DEFAULT)
_SCOPE = InstrumentationScope("voxfleet")
_NO_TRACE = (0, 0)


@dataclass(slots=True)
class ToldRecord:
    """What the exporter reads of a log record."""

    timestamp: int
    """Nanoseconds since 1970."""
    severity_text: str
    severity_number: SeverityNumber
    body: str | int | float | bool
    attributes: Mapping[str, str | int | float | bool]
    trace_id: int
    span_id: int
    context: Context | None = None
    event_name: str | None = None

    @property
    def observed_timestamp(self) -> int:
        return self.timestamp

    @property
    def trace_flags(self) -> TraceFlags:
        return _SAMPLED if self.trace_id else _NOT_SAMPLED

    def __copy__(self) -> Self:
        """The batch takes a copy of each, and nobody else holds this one."""
        return self


@dataclass(frozen=True, slots=True)
class _Emitted:
    """What the batch reads of one."""

    log_record: ToldRecord
    resource: Resource
    instrumentation_scope: InstrumentationScope = _SCOPE
    limits: None = None


class LogSink:
    """Takes log events; `telemetry.log_sinks` has who tells them."""

    def __init__(self, batch: BatchLogRecordProcessor, resource: Resource) -> None:
        self._batch = batch
        self._resource = resource

    def __call__(self, level: str, event: Mapping[str, Any]) -> None:
        """Never waits."""
        fields = {
            name: _told(value)
            for name, value in event.items()
            if value is not None and name not in _LEFT_OUT and not name.startswith("_")
        }
        record = ToldRecord(
            time.time_ns(),
            level.upper(),
            _SEVERITIES.get(level, SeverityNumber.INFO),
            _told(str(event.get("event", ""))),
            fields,
            *(CURRENT.get().ids or _NO_TRACE),
        )
        self._batch.on_emit(_Emitted(record, self._resource))


def _told(value: Any) -> str | int | float | bool:
    return value if isinstance(value, bool | int | float) else str(value)[:_LONGEST]
