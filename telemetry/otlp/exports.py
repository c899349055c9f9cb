"""The exporters of a process: OTLP over HTTP, in a thread for each signal, which never make a request wait.

What a receiver does not take in time is dropped: what waits is bounded, and the end of a process waits for a
few seconds only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.trace.export import SpanExportResult

from telemetry.log_sinks import SINKS
from telemetry.otlp.batches import Batch, Sender
from telemetry.otlp.logs import LogSink, NotedEvent, as_readable_record
from telemetry.otlp.metrics import metrics_data
from telemetry.otlp.resource import ProcessResource
from telemetry.otlp.traces import LiveSpan, OtlpTracing, as_readable_span
from telemetry.settings import TelemetrySettings
from telemetry.spans import Tracing

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 5.0
_LAST_SECONDS = 2.0
_QUIET_SECONDS = 600.0
Families = tuple[int, list[Any]]
"""Metrics as they were at that time, nanoseconds since 1970."""


class Seldom(logging.Filter):
    """Lets an exporter log one line of each level in ten minutes: a receiver may be away for days, and every
    message that it does not take is three lines.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._quiet_until: dict[int, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Called by the exporter's logger."""
        now = self._clock()
        if now < self._quiet_until.get(record.levelno, now):
            return False
        self._quiet_until[record.levelno] = now + _QUIET_SECONDS
        return True


class Exports:
    """Sends what a process tells, from `running` on."""

    def __init__(
        self,
        settings: TelemetrySettings,
        service: str,
        collect: Callable[[], Iterable[Any]],
    ) -> None:
        self._settings = settings
        self._collect = collect
        self._resource = ProcessResource(service)
        self.tracing = Tracing()
        self._sink: LogSink | None = None
        self._metrics: Batch[Families] | None = None
        self._batches: list[Batch[Any]] = []
        if "traces" in settings.otlp_signals:
            spans = self._batch_of_spans()
            self._batches.append(spans)
            self.tracing = OtlpTracing(settings, spans.note)
        if "logs" in settings.otlp_signals:
            logs = self._batch_of_logs()
            self._batches.append(logs)
            self._sink = LogSink(logs.note)
        if "metrics" in settings.otlp_signals:
            self._metrics = self._batch_of_metrics()
            self._batches.append(self._metrics)
        self.sender = Sender(self._batches)
        for exporter in (OTLPSpanExporter, OTLPLogExporter, OTLPMetricExporter):
            says = logging.getLogger(exporter.__module__)
            if not any(isinstance(one, Seldom) for one in says.filters):
                says.addFilter(Seldom())

    def dropped(self) -> Iterator[tuple[str, str, int]]:
        """Signal, reason and number of what was noted and reached no receiver."""
        for batch in self._batches:
            for reason, count in batch.dropped.items():
                yield batch.signal, reason, count

    def _batch_of_spans(self) -> Batch[LiveSpan]:
        exporter = OTLPSpanExporter(**self._options("traces"))

        def send(waiting: list[LiveSpan]) -> bool:
            spans = [as_readable_span(span, self._resource) for span in waiting]
            return exporter.export(spans) is SpanExportResult.SUCCESS

        return Batch("traces", send, exporter.shutdown)

    def _batch_of_logs(self) -> Batch[NotedEvent]:
        exporter = OTLPLogExporter(**self._options("logs"))

        def send(waiting: list[NotedEvent]) -> bool:
            records = [as_readable_record(event, self._resource) for event in waiting]
            return exporter.export(records) is LogRecordExportResult.SUCCESS

        return Batch("logs", send, exporter.shutdown)

    def _batch_of_metrics(self) -> Batch[Families]:
        exporter = OTLPMetricExporter(**self._options("metrics"))
        began_ns = time.time_ns()

        def send(waiting: list[Families]) -> bool:
            ((now_ns, families),) = waiting
            data = metrics_data(families, self._resource, began_ns, now_ns)
            return exporter.export(data) is MetricExportResult.SUCCESS

        return Batch("metrics", send, exporter.shutdown, most=1, full=1)

    def _options(self, signal: str) -> dict[str, Any]:
        settings = self._settings
        certificate = settings.otlp_certificate
        return {
            "endpoint": f"{settings.otlp_endpoint}/v1/{signal}",
            "headers": {name: value.get_secret_value() for name, value in settings.otlp_headers.items()},
            "certificate_file": None if certificate is None else str(certificate),
            "timeout": _TIMEOUT_SECONDS,
            "compression": Compression.Gzip,
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send; at the end of the block what waits is sent, within seconds."""
        self.sender.start()
        if self._sink is not None:
            SINKS.append(self._sink)
        measuring = asyncio.create_task(self._note_metrics_regularly())
        try:
            yield
        finally:
            measuring.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await measuring
            if self._sink is not None:
                SINKS.remove(self._sink)
            self.note_metrics()
            if not await asyncio.to_thread(self.sender.stop, _LAST_SECONDS):
                logger.warning("the receiver of telemetry does not answer; the last of it is dropped")

    async def _note_metrics_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._settings.otlp_metrics_seconds)
            self.note_metrics()

    def note_metrics(self) -> None:
        """Take note of the metrics as they are now."""
        if self._metrics is not None:
            self._metrics.note((time.time_ns(), list(self._collect())))
