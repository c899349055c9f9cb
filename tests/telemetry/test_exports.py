"""What the exporters of a process say."""

from __future__ import annotations

import logging

import pytest

from telemetry import TelemetrySettings

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra otel")

from telemetry.otlp.exports import Exports, Seldom


def test_a_receiver_that_is_away_is_told_of_once_in_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        Exports(TelemetrySettings(otlp_endpoint="http://127.0.0.1:9"), "gateway", list)
    says, now = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter"), [0.0]
    (own,) = says.filters
    quiet = Seldom(lambda: now[0])
    says.removeFilter(own)
    says.addFilter(quiet)
    for now[0] in (0.0, 10.0, 599.0, 600.0):
        says.warning("Transient error")
        says.error("Failed to export at %d s", now[0])
    says.removeFilter(quiet)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "Transient error",
        "Failed to export at 0 s",
        "Transient error",
        "Failed to export at 600 s",
    ]
