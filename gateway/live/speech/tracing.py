"""The traces of a live session: one for each utterance, from text that is complete to its last audio."""

from __future__ import annotations

import time

from gateway.operations.measurements.objectives import Kind
from gateway.service import Gateway
from gateway.synthesis.attempts import Attempts
from gateway.synthesis.tracing import begin_span, end_span
from telemetry import NO_SPAN, Span
from telemetry.spans import CURRENT


class UtteranceSpans:
    """One utterance after the other."""

    def __init__(self, gateway: Gateway, request_id: str, protocol: str) -> None:
        self._gateway = gateway
        self._request_id = request_id
        self._protocol = protocol
        self._span = NO_SPAN
        self._began_at = 0.0
        self._migrations_before = 0

    def begin(self, migrations: int, waited_since: float | None) -> Span:
        """The next one. `waited_since`: of `time.monotonic()`, where nothing was said before it."""
        self._began_at = time.monotonic() if waited_since is None else waited_since
        self._span = begin_span(self._gateway, self._protocol, self._began_at, "live utterance")
        self._migrations_before = migrations
        if self._gateway.tracing.on:
            CURRENT.set(self._span)
        return self._span

    def end(
        self, outcome: str, kind: Kind, attempts: Attempts, audio_seconds: float, status: int | None
    ) -> None:
        """It is over; where there is none, nothing happens. `status`: that of an error, as HTTP has it."""
        if self._span is NO_SPAN:
            return
        first_audio_at = attempts.hearing.first_audio_at
        first_seconds = None if first_audio_at is None else round(first_audio_at - self._began_at, 4)
        figures = {"audio_seconds": round(audio_seconds, 3), "first_audio_seconds": first_seconds}
        span, self._span = self._span, NO_SPAN
        end_span(
            self._gateway, span, kind, request_id=self._request_id, outcome=outcome, status=status,
            first_seconds=first_seconds, migrations=attempts.migrations - self._migrations_before,
            figures=figures,
        )  # fmt: skip
