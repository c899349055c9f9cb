"""The exporters of a process: OTLP over HTTP, in a thread of its own, which never makes a request wait.

What a receiver does not take in time is dropped: what waits is bounded, and the end of a process waits for a
few seconds only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

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
Families = tuple[int, list[Any]]
"""Metrics as they were at that time, nanoseconds since 1970."""


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
        batches: list[Batch[Any]] = []
        exporters: list[OTLPSpanExporter | OTLPLogExporter | OTLPMetricExporter] = []
        if "traces" in settings.otlp_signals:
            spans = OTLPSpanExporter(**self._options("traces"))
            batches.append(self._batch_of_spans(spans))
            exporters.append(spans)
            self.tracing = OtlpTracing(settings, batches[-1].note)
        if "logs" in settings.otlp_signals:
            logs = OTLPLogExporter(**self._options("logs"))
            batches.append(self._batch_of_logs(logs))
            exporters.append(logs)
            self._sink = LogSink(batches[-1].note)
        if "metrics" in settings.otlp_signals:
            metrics = OTLPMetricExporter(**self._options("metrics"))
            self._metrics = self._batch_of_metrics(metrics)
            batches.append(self._metrics)
            exporters.append(metrics)
        self.sender = Sender(batches, exporters)

    def _batch_of_spans(self, exporter: OTLPSpanExporter) -> Batch[LiveSpan]:
        def send(waiting: list[LiveSpan]) -> None:
            exporter.export([as_readable_span(span, self._resource) for span in waiting])

        return Batch(send)

    def _batch_of_logs(self, exporter: OTLPLogExporter) -> Batch[NotedEvent]:
        def send(waiting: list[NotedEvent]) -> None:
            exporter.export([as_readable_record(event, self._resource) for event in waiting])

        return Batch(send)

    def _batch_of_metrics(self, exporter: OTLPMetricExporter) -> Batch[Families]:
        began_ns = time.time_ns()

        def send(waiting: list[Families]) -> None:
            for now_ns, families in waiting:
                exporter.export(metrics_data(families, self._resource, began_ns, now_ns))

        return Batch(send, most=1, full=1)

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
        """As they are now."""
        if self._metrics is not None:
            self._metrics.note((time.time_ns(), list(self._collect())))
