"""What a worker tells of a request: the wait for a step, the prompt, the patches, and how it ended."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from telemetry import Span, TraceContext, Tracing
from worker.protocol import StartRequest
from worker.requests.tracing import RequestTrace

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Told(Span):
    """Keeps what it is told."""

    def __init__(self, name: str, began: float | None = None, **attributes: Any) -> None:
        self.name, self.began, self.attributes = name, began, attributes
        self.children: list[Told] = []
        self.events: list[str] = []
        self.endings: list[tuple[str, bool, float | None]] = []

    def child(self, name: str, began: float | None = None, **attributes: Any) -> Told:
        self.children.append(Told(name, began, **attributes))
        return self.children[-1]

    def event(self, name: str, **attributes: Any) -> None:
        self.events.append(name)

    def set(self, **attributes: Any) -> None:
        self.attributes |= attributes

    def end(self, error: str = "", slow: bool = False, at: float | None = None) -> None:
        self.endings.append((error, slow, at))


class Listening(Tracing):
    """Keeps spans."""

    on = True

    def __init__(self) -> None:
        self.spans: list[Told] = []
        self.parents: list[TraceContext | None] = []

    def begin(
        self, name: str, parent: TraceContext | None = None, began: float | None = None, **attributes: Any
    ) -> Told:
        self.parents.append(parent)
        self.spans.append(Told(name, began, **attributes))
        return self.spans[-1]


def traced(traceparent: str | None = PARENT, slow_seconds: float = 60.0) -> tuple[RequestTrace, Listening]:
    tracing = Listening()
    worker = SimpleNamespace(
        tracing=tracing, worker_id="w", settings=SimpleNamespace(trace_slow_seconds=slow_seconds)
    )
    start = StartRequest(request_id="r", text="A text.", seed=1, traceparent=traceparent)
    return RequestTrace(worker, start), tracing


def test_a_request_is_told_from_the_wait_to_the_last_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, tracing = traced()
    later = time.monotonic() + 3
    trace.accepted(resumed_patches=3)
    monkeypatch.setattr(time, "monotonic", lambda: later)
    trace.first(1.0)
    trace.first(None)
    trace.finished("stop", 5)
    trace.end()
    (speak,) = tracing.spans
    assert tracing.parents == [TraceContext.parse(PARENT)]
    wait, prefill, patches = speak.children
    assert [wait.name, prefill.name, patches.name] == ["wait for a step", "prefill", "patches"]
    assert wait.began < wait.endings[0][2] == prefill.began == later - 1
    assert len(prefill.endings) == len(patches.endings) == 1
    assert speak.events == ["first patch"]
    told = {"resumed_patches": 3, "finish_reason": "stop", "patches": 5}
    assert told.items() <= speak.attributes.items()
    assert speak.endings[0] == ("", False, None)
    assert "A text." not in str(vars(speak))


def test_an_engine_that_does_not_say_when_it_began_has_no_wait() -> None:
    trace, tracing = traced(slow_seconds=1e-9)
    trace.accepted(0)
    trace.first(None)
    trace.finished("error", 1)
    (speak,) = tracing.spans
    assert [child.name for child in speak.children] == ["prefill", "patches"]
    assert speak.endings[0] == ("engine_failed", True, None)


@pytest.mark.parametrize("end", ["busy", ""])
def test_a_request_that_was_refused_has_a_span_alone(end: str) -> None:
    trace, tracing = traced()
    trace.end(end)
    assert tracing.spans[0].endings == [(end, False, None)] and not tracing.spans[0].children


def test_without_a_trace_nothing_is_told() -> None:
    trace, tracing = traced(traceparent=None)
    trace.accepted(0)
    trace.first(None)
    trace.finished("stop", 1)
    trace.end()
    assert tracing.spans == []
