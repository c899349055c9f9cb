"""Metrics of prometheus_client become those of OpenTelemetry, number by number."""

from __future__ import annotations

import pytest

from telemetry.process import is_installed

if not is_installed():
    pytest.skip("needs the extra otel", allow_module_level=True)

from opentelemetry.sdk.metrics.export import AggregationTemporality, Metric
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from telemetry.otlp.metrics import metrics_data

TRACE = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7"}


def exported(registry: CollectorRegistry) -> dict[str, Metric]:
    data = metrics_data(registry.collect(), Resource.create({}), 1, 2)
    return {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}


def test_counters_and_gauges_keep_names_labels_and_values() -> None:
    registry = CollectorRegistry()
    counter = Counter("voxfleet_requests_total", "Requests.", ["outcome"], registry=registry)
    counter.labels("stop").inc(3)
    counter.labels("failed").inc()
    Gauge("voxfleet_session_bytes", "Bytes.", registry=registry).set(7)
    Info("voxfleet_words", "No number.", registry=registry)
    metrics = exported(registry)
    assert set(metrics) == {"voxfleet_requests_total", "voxfleet_session_bytes"}
    total = metrics["voxfleet_requests_total"].data
    assert total.is_monotonic and total.aggregation_temporality is AggregationTemporality.CUMULATIVE
    assert {point.attributes["outcome"]: point.value for point in total.data_points} == {
        "stop": 3,
        "failed": 1,
    }
    (point,) = metrics["voxfleet_session_bytes"].data.data_points
    assert (point.value, point.time_unix_nano, metrics["voxfleet_session_bytes"].unit) == (7, 2, "By")


def test_a_histogram_has_its_buckets_and_exemplars() -> None:
    registry = CollectorRegistry()
    histogram = Histogram("voxfleet_encode_seconds", "Time.", ["format"], buckets=(0.1, 1), registry=registry)
    histogram.labels("mp3").observe(0.05)
    histogram.labels("mp3").observe(0.5, TRACE)
    histogram.labels("mp3").observe(0.7)
    histogram.labels("mp3").observe(30)
    histogram.labels("wav").observe(2)
    metric = exported(registry)["voxfleet_encode_seconds"]
    points = {point.attributes["format"]: point for point in metric.data.data_points}
    mp3 = points["mp3"]
    assert (list(mp3.explicit_bounds), list(mp3.bucket_counts)) == ([0.1, 1.0], [1, 2, 1])
    assert (mp3.count, mp3.sum, metric.unit) == (4, pytest.approx(31.25), "s")
    (exemplar,) = mp3.exemplars
    assert (exemplar.value, f"{exemplar.trace_id:032x}") == (0.5, TRACE["trace_id"])
    assert points["wav"].count == 1 and not points["wav"].exemplars
