"""The metrics of `prometheus_client` as OpenTelemetry has them: one definition of each, for both.

Names stay what they are at /metrics. Totals count since the process started. Exemplars of histograms go
along.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from prometheus_client.core import Metric as Family
from prometheus_client.samples import Sample

from telemetry.otlp.resource import SCOPE

_UNITS = (("_seconds", "s"), ("_bytes", "By"))
_CUMULATIVE = AggregationTemporality.CUMULATIVE


def metrics_data(families: Iterable[Family], resource: Resource, began_ns: int, now_ns: int) -> MetricsData:
    """`families` as they were at `now_ns`, of a process that counts since `began_ns`."""
    metrics = [metric for family in families if (metric := _metric(family, began_ns, now_ns)) is not None]
    scope = ScopeMetrics(scope=SCOPE, metrics=metrics, schema_url="")
    return MetricsData([ResourceMetrics(resource=resource, scope_metrics=[scope], schema_url="")])


def _metric(family: Family, began_ns: int, now_ns: int) -> Metric | None:
    data: Sum | Gauge | Histogram
    if family.type == "counter":
        name = f"{family.name}_total"
        data = Sum(_numbers(family, name, began_ns, now_ns), _CUMULATIVE, is_monotonic=True)
    elif family.type == "gauge":
        name = family.name
        data = Gauge(_numbers(family, name, began_ns, now_ns))
    elif family.type == "histogram":
        name = family.name
        data = Histogram(_histograms(family, began_ns, now_ns), _CUMULATIVE)
    else:
        return None
    unit = next((unit for ending, unit in _UNITS if family.name.endswith(ending)), "1")
    return Metric(name, family.documentation, unit, data) if data.data_points else None


def _numbers(family: Family, name: str, began_ns: int, now_ns: int) -> list[NumberDataPoint]:
    return [
        NumberDataPoint(dict(sample.labels), began_ns, now_ns, sample.value)
        for sample in family.samples
        if sample.name == name
    ]


def _histograms(family: Family, began_ns: int, now_ns: int) -> list[HistogramDataPoint]:
    buckets: dict[tuple[tuple[str, str], ...], list[Sample]] = defaultdict(list)
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in family.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        if sample.name == f"{family.name}_bucket":
            buckets[labels].append(sample)
        elif sample.name == f"{family.name}_sum":
            sums[labels] = sample.value
    return [
        _histogram(dict(labels), samples, sums.get(labels, 0.0), began_ns, now_ns)
        for labels, samples in buckets.items()
    ]


def _histogram(
    labels: dict[str, str], samples: list[Sample], total: float, began_ns: int, now_ns: int
) -> HistogramDataPoint:
    """A data point of OTLP, whose buckets count their own values, from Prometheus's cumulative buckets."""
    bounds = [float(sample.labels["le"]) for sample in samples]
    below = [0, *(round(sample.value) for sample in samples)]
    counts = [after - before for before, after in itertools.pairwise(below)]
    exemplars = [_exemplar(sample) for sample in samples if sample.exemplar is not None]
    finite = [bound for bound in bounds if math.isfinite(bound)]
    return HistogramDataPoint(
        labels, began_ns, now_ns, below[-1], total, counts, finite, math.inf, -math.inf, exemplars
    )


def _exemplar(sample: Sample) -> Exemplar:
    told = sample.exemplar
    return Exemplar(
        filtered_attributes={},
        value=told.value,
        time_unix_nano=round(1e9 * (told.timestamp or 0.0)),
        span_id=int(told.labels["span_id"], 16),
        trace_id=int(told.labels["trace_id"], 16),
    )
