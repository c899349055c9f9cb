"""Log events as OpenTelemetry has them: as they were when they happened, in the trace of their request."""

from __future__ import annotations

import pytest

from telemetry import TelemetrySettings
from telemetry.process import is_installed
from telemetry.spans import CURRENT

if not is_installed():
    pytest.skip("needs the extra otel", allow_module_level=True)

from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource

from telemetry.otlp.logs import LogSink, NotedEvent, as_readable_record
from telemetry.otlp.traces import OtlpTracing

RESOURCE = Resource.create({})


@pytest.fixture
def noted() -> list[NotedEvent]:
    return []


def sent(noted: list[NotedEvent]) -> ReadableLogRecord:
    (event,) = noted
    return as_readable_record(event, RESOURCE)


def test_numbers_stay_numbers_and_neither_voice_nor_what_is_missing_is_told(noted: list[NotedEvent]) -> None:
    fields = {"event": "request", "seconds": 1.5, "migrations": 0, "voice": "Ann", "worker": None, "_own": 1}
    LogSink(noted.append)("warning", fields)
    record = sent(noted).log_record
    assert record.body == "request" and record.severity_number is SeverityNumber.WARN
    assert record.attributes == {"seconds": 1.5, "migrations": 0}
    assert (record.trace_id, record.span_id) == (0, 0)


def test_a_value_that_changes_later_is_told_as_it_was(noted: list[NotedEvent]) -> None:
    workers = ["w0"]
    event = {"event": "request", "workers": workers, "seconds": 2}
    LogSink(noted.append)("info", event)
    workers.append("w1")
    event.clear()
    assert sent(noted).log_record.attributes == {"workers": "['w0']", "seconds": 2}


def test_an_event_of_a_request_names_its_trace(noted: list[NotedEvent]) -> None:
    span = OtlpTracing(TelemetrySettings(), lambda span: None).begin("speech")
    token = CURRENT.set(span)
    LogSink(noted.append)("info", {"event": "request"})
    CURRENT.reset(token)
    record = sent(noted).log_record
    assert (record.trace_id, record.span_id) == span.ids
