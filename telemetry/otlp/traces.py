"""Spans of OpenTelemetry, held back until their request has ended: only then is known which traces to keep.

Kept are traces that whoever asked keeps, a share of the others, and all with an error, a slow first audio or
a worker that failed. A bound holds for all of them together, since clients may say what they like. A worker
decides by the same rules; it is told with the request when the trace is kept so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, TraceIdRatioBased
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from telemetry.settings import TelemetrySettings
from telemetry.spans import NO_SPAN, Attribute, Span, Tracing
from telemetry.traceparent import TraceContext

MOST_SPANS = 200
"""Of one request; a clip that moves for ever must not fill the memory."""
_BURST_SECONDS = 10.0
_LOW_BITS = 2**64 - 1
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_PREFIX = "voxfleet."


class Allowance:
    """So many a second, on average over `_BURST_SECONDS`."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._most = self._left = max(1.0, per_second * _BURST_SECONDS)
        self._clock = clock
        self._at = clock()

    def take(self) -> bool:
        """Whether there is one left."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class _Request:
    """All spans of a request in this process. `kept` is None as long as nobody knows."""

    __slots__ = ("allowance", "ended", "kept", "over", "spans", "take")

    def __init__(self, take: Callable[[ReadableSpan], None], allowance: Allowance, kept: bool) -> None:
        self.take = take
        self.allowance = allowance
        self.ended: list[ReadableSpan] = []
        self.spans = 1
        self.kept = (kept and allowance.take()) or None
        self.over = False

    def keep(self) -> None:
        """Decide for it, unless there are too many."""
        if self.kept is None:
            self.kept = self.allowance.take()

    def end(self, span: ReadableSpan) -> None:
        """One of its spans has ended; after the outermost, what ends later goes the same way."""
        if not self.over:
            self.ended.append(span)
        elif self.kept:
            self.take(span)

    def finish(self) -> None:
        """The outermost has."""
        self.over = True
        if self.kept:
            for span in self.ended:
                self.take(span)
        self.ended.clear()


class LiveSpan(Span):
    """A span that is measured."""

    __slots__ = ("_context", "_ended", "_outermost", "_request", "_span", "_tracer")

    def __init__(
        self,
        tracer: trace.Tracer,
        request: _Request,
        name: str,
        context: trace.Context | None,
        began: float | None,
        attributes: dict[str, Attribute],
        outermost: bool = False,
    ) -> None:
        self._tracer = tracer
        self._request = request
        self._outermost = outermost
        self._ended = False
        kind = SpanKind.SERVER if outermost else SpanKind.INTERNAL
        self._span = tracer.start_span(
            name, context, kind, _named(attributes), start_time=None if began is None else _wall_clock(began)
        )
        self._context: trace.Context | None = None

    @property
    def traceparent(self) -> str | None:
        context = self._span.get_span_context()
        return str(TraceContext(context.trace_id, context.span_id, bool(self._request.kept)))

    @property
    def exemplar(self) -> dict[str, str] | None:
        if not self._request.kept:
            return None
        context = self._span.get_span_context()
        return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}

    @property
    def ids(self) -> tuple[int, int] | None:
        context = self._span.get_span_context()
        return context.trace_id, context.span_id

    def child(self, name: str, began: float | None = None, **attributes: Attribute) -> Span:
        if self._request.spans >= MOST_SPANS:
            return NO_SPAN
        self._request.spans += 1
        if self._context is None:
            self._context = trace.set_span_in_context(self._span)
        return LiveSpan(self._tracer, self._request, name, self._context, began, attributes)

    def event(self, name: str, **attributes: Attribute) -> None:
        self._span.add_event(name, _named(attributes))

    def set(self, **attributes: Attribute) -> None:
        self._span.set_attributes(_named(attributes))

    def keep(self) -> None:
        self._request.keep()

    def end(self, error: str = "", slow: bool = False, at: float | None = None) -> None:
        if self._ended:
            return
        self._ended = True
        if error:
            self._span.set_status(Status(StatusCode.ERROR, error))
            self._span.set_attribute("error.type", error)
        if error or slow:
            self._request.keep()
        self._span.end(None if at is None else _wall_clock(at))
        self._request.end(self._span)
        if self._outermost:
            self._request.finish()


class OtlpTracing(Tracing):
    """Spans of this process. `take` is given those that are kept."""

    on = True

    def __init__(
        self, settings: TelemetrySettings, resource: Resource, take: Callable[[ReadableSpan], None]
    ) -> None:
        limits = SpanLimits(max_attributes=32, max_events=64, max_attribute_length=256)
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, span_limits=limits
        )
        self._tracer = provider.get_tracer("voxfleet")
        self._take = take
        self._bound = TraceIdRatioBased.get_bound_for_rate(settings.trace_share)
        self._allowance = Allowance(settings.trace_most_per_second)

    def begin(
        self,
        name: str,
        parent: TraceContext | None = None,
        began: float | None = None,
        **attributes: Attribute,
    ) -> Span:
        context = None if parent is None else _remote(parent)
        request = _Request(self._take, self._allowance, parent is not None and parent.sampled)
        span = LiveSpan(self._tracer, request, name, context, began, attributes, outermost=True)
        if parent is None and span.ids[0] & _LOW_BITS < self._bound:
            request.keep()
        return span


def _remote(parent: TraceContext) -> trace.Context:
    context = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=_SAMPLED)
    return trace.set_span_in_context(trace.NonRecordingSpan(context))


def _named(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    return {_PREFIX + name: value for name, value in attributes.items()}


def _wall_clock(monotonic: float) -> int:
    """Nanoseconds of the clock that others see."""
    return time.time_ns() - round(1e9 * (time.monotonic() - monotonic))
