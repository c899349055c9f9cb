"""What a worker tells of a request, as a part of the gateway's trace: wait for the engine, prefill, and what
is made: patches or tokens.

attempt (the gateway's)
  speak                  from the message that came to the last frame that went
    wait for a step      until a step had room for it, where the engine says so
    prefill              from that step on, to its first patch or token
    patches              from the first to the last
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from telemetry import NO_SPAN, TraceContext
from worker.protocol import Start, StartRequest

if TYPE_CHECKING:
    from worker.lifecycle import Worker


class RequestTrace:
    """The spans of one request. Does nothing where the gateway names no trace, or this worker sends none."""

    def __init__(self, worker: Worker, start: Start) -> None:
        self._span = self._patches = NO_SPAN
        self._accepted_at: float | None = None
        self._slow_seconds = worker.settings.trace_slow_seconds
        self._slow = False
        if start.traceparent is not None and worker.tracing.on:
            parent = TraceContext.parse(start.traceparent)
            name = "speak" if isinstance(start, StartRequest) else "write"
            self._span = worker.tracing.begin(
                name, parent, request_id=start.request_id, attempt=start.attempt, worker=worker.worker_id
            )

    def accepted(self, resumed_patches: int) -> None:
        """The engine has it."""
        if self._span is not NO_SPAN:
            self._accepted_at = time.monotonic()
            self._span.set(resumed_patches=resumed_patches)

    def first(self, computing_seconds: float | None) -> None:
        """A patch or a token goes out; of the first it may be known how long its prompt was computed."""
        if self._accepted_at is None:
            return
        now, began_at = time.monotonic(), self._accepted_at
        self._slow, self._accepted_at = now - began_at > self._slow_seconds, None
        if computing_seconds is not None:
            computing_at = max(began_at, now - computing_seconds)
            wait = self._span.child("wait for a step", began_at)
            wait.end(at=computing_at)
            began_at = computing_at
        self._span.child("prefill", began_at).end()
        self._span.event("first patch")
        self._patches = self._span.child("patches")

    def finished(self, reason: str, patches: int) -> None:
        """The engine has let go of it."""
        self._span.set(finish_reason=reason, patches=patches)
        self._patches.end()
        self.end("engine_failed" if reason == "error" else "")

    def end(self, error: str = "") -> None:
        """Nothing more is told; twice is a no-op."""
        self._span.end(error, self._slow)
