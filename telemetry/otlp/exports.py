"""The exporters of a process: OTLP over HTTP, in threads of their own, which never make a request wait.

What a receiver does not take in time is dropped: queues are bounded, and the end of a process waits for a few
seconds only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from telemetry.log_sinks import SINKS
from telemetry.otlp.logs import LogSink
from telemetry.otlp.metrics import metrics_data
from telemetry.otlp.resource import ProcessResource
from telemetry.otlp.traces import OtlpTracing
from telemetry.settings import TelemetrySettings
from telemetry.spans import Tracing

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 5.0
_BATCH_SECONDS = 5.0
"""Between two batches of spans, or of log events: each costs a millisecond or two, however small it is."""
_LAST_SECONDS = 2.0


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
        self._began_ns = time.time_ns()
        self._resource = ProcessResource(service)
        self._spans: BatchSpanProcessor | None = None
        self._logs: BatchLogRecordProcessor | None = None
        self._metrics: OTLPMetricExporter | None = None
        self.tracing = Tracing()
        if "traces" in settings.otlp_signals:
            self._spans = BatchSpanProcessor(
                OTLPSpanExporter(**self._options("traces")), schedule_delay_millis=1000 * _BATCH_SECONDS
            )
            self.tracing = OtlpTracing(settings, self._resource, self._spans.on_end)
        if "metrics" in settings.otlp_signals:
            self._metrics = OTLPMetricExporter(**self._options("metrics"))
        if "logs" in settings.otlp_signals:
            self._logs = BatchLogRecordProcessor(
                OTLPLogExporter(**self._options("logs")), schedule_delay_millis=1000 * _BATCH_SECONDS
            )

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
        sink = None if self._logs is None else LogSink(self._logs, self._resource)
        if sink is not None:
            SINKS.append(sink)
        sending = asyncio.create_task(self._send_metrics())
        try:
            yield
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending
            if sink is not None:
                SINKS.remove(sink)
            families = [] if self._metrics is None else list(self._collect())
            await self._close(families)

    async def _send_metrics(self) -> None:
        while self._metrics is not None:
            await asyncio.sleep(self._settings.otlp_metrics_seconds)
            families = list(self._collect())
            await asyncio.to_thread(self._export, families)

    def _export(self, families: list[Any]) -> None:
        data = metrics_data(families, self._resource, self._began_ns, time.time_ns())
        self._metrics.export(data)

    async def _close(self, families: list[Any]) -> None:
        """In a thread that a receiver which hangs cannot make the process wait for."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            try:
                if self._spans is not None:
                    self._spans.shutdown()
                if self._logs is not None:
                    self._logs.shutdown()
                if self._metrics is not None:
                    self._export(families)
                    self._metrics.shutdown()
            finally:
                with contextlib.suppress(RuntimeError):  # nobody waited
                    loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, name="last-telemetry", daemon=True).start()
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await done.wait()
        except TimeoutError:
            logger.warning("the receiver of telemetry does not answer; the last of it is dropped")
