"""Traces, metrics and logs for OpenTelemetry: what gateway and worker share.

Off unless a setting names a receiver.

traceparent.py  the trace that a request belongs to, as it crosses the wire
spans.py        what is told of a request: a span that is told nothing, and where a request finds its trace
log_sinks.py    who hears of log events beside standard error
settings.py     where to send, what, and which traces are kept
build.py        which build runs: version and commit
process.py      telemetry of a process from its start to its end
families.py     metrics of it; needs prometheus_client
otlp/           the only part that imports OpenTelemetry's SDK, and only where a receiver is named

No text, name of a voice, address or secret goes into a span: its attributes are numbers, ids and words of
ours.
"""

from telemetry.process import Telemetry, TelemetryMissingError
from telemetry.settings import TelemetrySettings
from telemetry.spans import NO_SPAN, Span, Tracing
from telemetry.traceparent import TRACEPARENT_PATTERN, TraceContext

__all__ = [
    "NO_SPAN",
    "TRACEPARENT_PATTERN",
    "Span",
    "Telemetry",
    "TelemetryMissingError",
    "TelemetrySettings",
    "TraceContext",
    "Tracing",
]
