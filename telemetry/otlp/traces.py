"""Spans of OpenTelemetry, held back until their request has ended: only then is known which traces to keep.

Kept are traces that whoever asked keeps, a share of the others, and all with an error, a slow first audio or
a worker that failed. A bound holds for all of them together, since clients may say what they like. A worker
decides by the same rules; it is told with the request when the trace is kept so far.

Until then a span is a few plain values. The SDK's, which take ten times as long to make, are made of those
that are kept, where they are sent.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from telemetry.otlp.resource import SCOPE
from telemetry.settings import TelemetrySettings
from telemetry.spans import NO_SPAN, Attribute, Span, Tracing
from telemetry.traceparent import TraceContext, traceparent

MOST_SPANS = 200
"""The most spans of a request; a clip that moves for ever must not fill the memory."""
MOST_EVENTS = 64
"""The most events of a span."""
_LONGEST = 256
"""Characters of an attribute."""
_BURST_SECONDS = 10.0
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_UNSET = Status(StatusCode.UNSET)


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

    __slots__ = ("_allowance", "_over", "_take", "ended", "kept", "spans", "trace_id")

    def __init__(self, trace_id: int, take: Callable[[LiveSpan], None], allowance: Allowance) -> None:
        self.trace_id = trace_id
        self._take = take
        self._allowance = allowance
        self.ended: list[LiveSpan] = []
        self.spans = 1
        self.kept: bool | None = None
        self._over = False

    def keep(self) -> None:
        """Decide for it, unless there are too many."""
        if self.kept is None:
            self.kept = self._allowance.take()

    def end(self, span: LiveSpan) -> None:
        """One of its spans has ended; after the outermost, what ends later goes the same way."""
        if not self._over:
            self.ended.append(span)
        elif self.kept:
            self._take(span)

    def finish(self) -> None:
        """The outermost has."""
        self._over = True
        if self.kept:
            for span in self.ended:
                self._take(span)
        self.ended.clear()


class LiveSpan(Span):
    """A span that is measured. Times are those of `time.monotonic()`. Once it has ended it does not change:
    another thread may read it then.
    """

    __slots__ = ("attributes", "began", "ended", "error", "events", "id", "name", "parent_id", "request")

    def __init__(
        self,
        request: _Request,
        name: str,
        parent_id: int | None,
        began: float | None,
        attributes: dict[str, Attribute],
    ) -> None:
        self.request = request
        self.name = name
        self.id = _new_id(64)
        self.parent_id = parent_id
        self.began = time.monotonic() if began is None else began
        self.ended: float | None = None
        self.attributes = attributes
        self.events: tuple[tuple[float, str, dict[str, Attribute]], ...] = ()
        self.error = ""

    @property
    def traceparent(self) -> str | None:
        return traceparent(self.request.trace_id, self.id, bool(self.request.kept))

    @property
    def exemplar(self) -> dict[str, str] | None:
        if not self.request.kept:
            return None
        return {"trace_id": f"{self.request.trace_id:032x}", "span_id": f"{self.id:016x}"}

    @property
    def ids(self) -> tuple[int, int] | None:
        return self.request.trace_id, self.id

    def child(self, name: str, began: float | None = None, **attributes: Attribute) -> Span:
        if self.request.spans >= MOST_SPANS:
            return NO_SPAN
        self.request.spans += 1
        return LiveSpan(self.request, name, self.id, began, attributes)

    def event(self, name: str, **attributes: Attribute) -> None:
        if self.ended is None and len(self.events) < MOST_EVENTS:
            self.events += ((time.monotonic(), name, attributes),)

    def set(self, **attributes: Attribute) -> None:
        if self.ended is None:
            self.attributes |= attributes

    def keep(self) -> None:
        self.request.keep()

    def end(self, error: str = "", slow: bool = False, at: float | None = None) -> None:
        if self.ended is not None:
            return
        self.ended = time.monotonic() if at is None else at
        self.error = error
        if error or slow:
            self.request.keep()
        self.request.end(self)


class _Outermost(LiveSpan):
    """The first of a request; its parent is somebody else's."""

    __slots__ = ()

    def end(self, error: str = "", slow: bool = False, at: float | None = None) -> None:
        if self.ended is None:
            super().end(error, slow, at)
            self.request.finish()


class OtlpTracing(Tracing):
    """Spans of this process. `take` is given those that are kept."""

    on = True

    def __init__(self, settings: TelemetrySettings, take: Callable[[LiveSpan], None]) -> None:
        self._take = take
        self._share = settings.trace_share
        self._allowance = Allowance(settings.trace_most_per_second)

    def begin(
        self,
        name: str,
        parent: TraceContext | None = None,
        began: float | None = None,
        **attributes: Attribute,
    ) -> Span:
        trace_id = _new_id(128) if parent is None else parent.trace_id
        request = _Request(trace_id, self._take, self._allowance)
        if random.random() < self._share if parent is None else parent.sampled:
            request.keep()
        return _Outermost(request, name, None if parent is None else parent.span_id, began, attributes)


def as_readable_span(span: LiveSpan, resource: Resource) -> ReadableSpan:
    """As the exporter reads it; of one that has ended."""
    trace_id, outermost = span.request.trace_id, isinstance(span, _Outermost)
    parent = None
    if span.parent_id is not None:
        parent = SpanContext(trace_id, span.parent_id, is_remote=outermost, trace_flags=_SAMPLED)
    attributes = _named(span.attributes)
    if span.error:
        attributes["error.type"] = span.error
    return ReadableSpan(
        span.name,
        SpanContext(trace_id, span.id, is_remote=False, trace_flags=_SAMPLED),
        parent,
        resource,
        attributes,
        [Event(name, _named(told), _wall_clock(at)) for at, name, told in span.events],
        kind=SpanKind.SERVER if outermost else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, span.error) if span.error else _UNSET,
        start_time=_wall_clock(span.began),
        end_time=_wall_clock(span.ended),
        instrumentation_scope=SCOPE,
    )


def _new_id(bits: int) -> int:
    """Random, and not the zero that stands for none."""
    return random.getrandbits(bits) or 1


def _named(attributes: dict[str, Attribute]) -> dict[str, Attribute]:
    return {
        f"voxfleet.{name}": value[:_LONGEST] if isinstance(value, str) else value
        for name, value in attributes.items()
    }


def _wall_clock(monotonic: float) -> int:
    """Nanoseconds of the clock that others see."""
    return time.time_ns() - round(1e9 * (time.monotonic() - monotonic))
