"""Log events as OpenTelemetry has them, each with the trace of the request that it is about.

They are those of standard error, which hold no text and no secret, without the names of voices, which users
give. The SDK's own records take seven times as long to make: they check attributes that are plain here, and
hold a context to find a trace in. A request notes its events; records are made where they are sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import TraceFlags

from telemetry.otlp.resource import SCOPE
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
_NO_TRACE = (0, 0)
_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types whose values stay what they are until they are sent."""


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
    event_name: str | None = None

    @property
    def observed_timestamp(self) -> int:
        return self.timestamp

    @property
    def trace_flags(self) -> TraceFlags:
        return _SAMPLED if self.trace_id else _NOT_SAMPLED


NotedEvent = tuple[int, str, dict[str, Any], tuple[int, int] | None]
"""Nanoseconds since 1970, the level, the event with its fields, and the ids of trace and span."""


class LogSink:
    """Takes log events; `telemetry.log_sinks` has who tells them."""

    def __init__(self, note: Callable[[NotedEvent], None]) -> None:
        self._note = note

    def __call__(self, level: str, event: Mapping[str, Any]) -> None:
        """Take note of a log event. Never waits."""
        fields = dict(event)
        if not _PLAIN.issuperset(map(type, fields.values())):
            fields = {name: _told(value) for name, value in fields.items() if value is not None}
        self._note((time.time_ns(), level, fields, CURRENT.get().ids))


def as_readable_record(noted: NotedEvent, resource: Resource) -> ReadableLogRecord:
    """As the exporter reads it."""
    at_ns, level, event, ids = noted
    fields = {
        name: _told(value)
        for name, value in event.items()
        if value is not None and name not in _LEFT_OUT and not name.startswith("_")
    }
    record = ToldRecord(
        at_ns,
        level.upper(),
        _SEVERITIES.get(level, SeverityNumber.INFO),
        _told(str(event.get("event", ""))),
        fields,
        *(ids or _NO_TRACE),
    )
    return ReadableLogRecord(record, resource, SCOPE)


def _told(value: Any) -> str | int | float | bool:
    return value if isinstance(value, bool | int | float) else str(value)[:_LONGEST]
