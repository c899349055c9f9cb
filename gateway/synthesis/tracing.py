"""What a trace tells of a request: its kind and how it went. No text, and no name that a user gave."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.operations.measurements.objectives import Kind
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
    first_seconds: float | None,
    migrations: int,
    figures: Mapping[str, float | int | None],
) -> None:
    """The request is over. `status`: that of its error, as HTTP has it; refusals are errors too.

    `first_seconds`: until its first audio or token. `figures`: of what was made.
    """
    settings = gateway.settings
    span.set(
        request_id=request_id,
        outcome=outcome,
        model=gateway.metrics.bounded_model(kind.model),
        voice=kind.voice,
        tenant=kind.tenant,
        migrations=migrations,
        **{name: value for name, value in figures.items() if value is not None},
    )
    failed = status is not None and (status >= 500 or status == 429)
    slow = first_seconds is not None and first_seconds > settings.trace_slow_seconds
    span.end(outcome if failed else "", slow)
