"""What a trace tells of a request: its kind and how it went. No text, and no name that a user gave."""

from __future__ import annotations

from gateway.operations.objectives import Kind
from gateway.service import Gateway
from telemetry import Span
from telemetry.spans import INCOMING


def begin_span(gateway: Gateway, protocol: str, began_at: float, name: str = "speech") -> Span:
    """The span of a request since `began_at`, in the trace that its client named, if it did."""
    return gateway.tracing.begin(name, INCOMING.get(), began_at, protocol=protocol)


def end_span(
    gateway: Gateway,
    span: Span,
    kind: Kind,
    *,
    request_id: str,
    outcome: str,
    status: int | None,
    first_audio_seconds: float | None,
    audio_seconds: float,
    migrations: int,
) -> None:
    """The request is over. `status`: that of its error, as HTTP has it; refusals are errors too."""
    settings = gateway.settings
    span.set(
        request_id=request_id,
        outcome=outcome,
        model=gateway.metrics.bounded_model(kind.model),
        voice=kind.voice,
        tenant=kind.tenant,
        audio_seconds=round(audio_seconds, 3),
        migrations=migrations,
    )
    if first_audio_seconds is not None:
        span.set(first_audio_seconds=round(first_audio_seconds, 4))
    failed = status is not None and (status >= 500 or status == 429)
    slow = first_audio_seconds is not None and first_audio_seconds > settings.trace_slow_seconds
    span.end(outcome if failed else "", slow)
