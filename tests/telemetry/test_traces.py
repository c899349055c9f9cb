"""Which traces are kept: those that clients keep, a share, all that went wrong or were slow; with a bound."""

from __future__ import annotations

import time
from typing import Any

import pytest

from telemetry import NO_SPAN, TelemetrySettings, TraceContext
from telemetry.process import is_installed
from tests.gateway.stages.fleet import ManualClock

if not is_installed():
    pytest.skip("needs the extra otel", allow_module_level=True)

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from telemetry.otlp.traces import MOST_SPANS, Allowance, OtlpTracing, as_readable_span

PARENT = TraceContext(0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7, sampled=True)
UNKEPT = TraceContext(PARENT.trace_id, PARENT.span_id, sampled=False)


class Kept:
    """Tracing into memory."""

    def __init__(self, **settings: Any) -> None:
        self.exporter = InMemorySpanExporter()
        options = TelemetrySettings(**{"trace_share": 0, **settings})
        resource = Resource.create({})
        self.tracing = OtlpTracing(
            options, lambda span: self.exporter.export([as_readable_span(span, resource)])
        )

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.exporter.get_finished_spans()]


def test_nothing_is_kept_that_is_neither_asked_for_nor_worth_it() -> None:
    kept = Kept()
    for parent in (None, UNKEPT):
        span = kept.tracing.begin("speech", parent)
        span.child("queue").end()
        assert span.exemplar is None
        span.end()
        assert span.exemplar is None
    assert kept.names == []


def test_what_the_client_keeps_is_kept_in_its_trace() -> None:
    kept = Kept()
    with kept.tracing.begin("speech", PARENT, protocol="voxfleet") as span:
        with span.child("queue") as queue:
            assert TraceContext.parse(queue.traceparent).sampled
        assert span.exemplar["trace_id"] == f"{PARENT.trace_id:032x}"
    queue, speech = kept.exporter.get_finished_spans()
    assert (queue.name, speech.name) == ("queue", "speech")
    assert speech.parent.span_id == PARENT.span_id and queue.parent.span_id == speech.context.span_id
    assert {each.context.trace_id for each in (queue, speech)} == {PARENT.trace_id}
    assert speech.attributes["voxfleet.protocol"] == "voxfleet"


@pytest.mark.parametrize("parent", [None, UNKEPT])
@pytest.mark.parametrize("why", [{"error": "worker_lost"}, {"slow": True}])
def test_errors_and_slow_ones_are_kept_whoever_asked(
    parent: TraceContext | None, why: dict[str, Any]
) -> None:
    kept = Kept()
    span = kept.tracing.begin("speech", parent)
    span.child("queue").end()
    span.end(**why)
    assert kept.names == ["queue", "speech"]
    assert span.exemplar is not None
    error = kept.exporter.get_finished_spans()[1].attributes.get("error.type")
    assert error == why.get("error")


def test_an_attempt_that_failed_keeps_the_trace_and_those_who_go_on_hear_so() -> None:
    kept = Kept()
    span = kept.tracing.begin("speech")
    first, second = span.child("attempt"), span.child("attempt")
    assert not TraceContext.parse(first.traceparent).sampled
    first.end("lost")
    assert TraceContext.parse(second.traceparent).sampled
    second.end()
    span.end()
    assert kept.names == ["attempt", "attempt", "speech"]


def test_a_share_of_the_others_is_kept() -> None:
    everything, a_quarter = (
        Kept(trace_share=1, trace_most_per_second=1e5),
        Kept(trace_share=0.25, trace_most_per_second=1e5),
    )
    for kept in (everything, a_quarter):
        for _ in range(2000):
            kept.tracing.begin("speech").end()
    assert len(everything.names) == 2000
    assert 350 < len(a_quarter.names) < 650  # six standard deviations


def test_a_bound_holds_whatever_clients_say_and_goes_up_again() -> None:
    clock = ManualClock()
    allowance = Allowance(2, clock)
    assert sum(allowance.take() for _ in range(1000)) == 20
    clock.advance(3)
    assert sum(allowance.take() for _ in range(1000)) == 6
    kept = Kept(trace_most_per_second=0.5)
    for _ in range(100):
        kept.tracing.begin("speech", PARENT).end("failed")
    assert len(kept.names) < 10


def test_what_ends_after_its_request_goes_the_same_way() -> None:
    for parent, names in ((PARENT, ["speech", "encode"]), (UNKEPT, [])):
        kept = Kept()
        span = kept.tracing.begin("speech", parent)
        span.end()
        span.end("twice")
        span.child("encode").end()
        assert kept.names == names


def test_a_span_that_has_ended_stays_as_it_is() -> None:
    kept = Kept()
    span = kept.tracing.begin("speech", PARENT)
    span.event("first audio")
    span.end()
    span.set(outcome="other")
    span.event("migration")
    assert [event[1] for event in span.events] == ["first audio"] and span.attributes == {}


def test_a_request_has_so_many_spans() -> None:
    kept = Kept()
    span = kept.tracing.begin("speech", PARENT)
    children = [span.child("attempt") for _ in range(2 * MOST_SPANS)]
    assert children[-1] is NO_SPAN and children[-1].traceparent is None
    for child in children:
        child.end()
    span.end()
    assert len(kept.names) == MOST_SPANS


def test_a_span_may_have_begun_and_ended_before_it_is_told() -> None:
    kept, now = Kept(), time.monotonic()
    span = kept.tracing.begin("speech", PARENT, now - 3)
    span.child("queue", now - 2).end(at=now - 1)
    span.end()
    queue, speech = kept.exporter.get_finished_spans()
    assert queue.end_time - queue.start_time == pytest.approx(1e9, abs=1e8)
    assert speech.end_time - speech.start_time >= 3e9 - 1e8
