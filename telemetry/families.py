"""What gateway and worker show of their telemetry, as families of metrics of `prometheus_client`."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric

from telemetry.process import Telemetry


class TelemetryCollector:
    """Read when it is asked for; tells nothing where telemetry is off."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def collect(self) -> Iterator[Metric]:
        if not self._telemetry.on:
            return
        dropped = CounterMetricFamily(
            "voxfleet_telemetry_dropped",
            "Spans, log records and messages of metrics that reached no receiver.",
            labels=["signal", "reason"],
        )
        for signal, reason, count in self._telemetry.dropped():
            dropped.add_metric([signal, reason], count)
        yield dropped
