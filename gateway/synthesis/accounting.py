"""What is counted and logged of a request at its end, however it ended. The text is nobody's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from gateway.operations.measurements.objectives import FirstPromise, Kind, note_request
from gateway.synthesis.tracing import end_span
from gateway.synthesis.trail import Trail
from telemetry import NO_SPAN, Span

if TYPE_CHECKING:
    from gateway.requests import TtsRequest
    from gateway.service import Gateway

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Account:
    """One request in figures. `outcome` is a finish reason, an error code or "client_gone"."""

    request_id: str
    outcome: str
    seconds: float
    """From its arrival to its end."""
    first_seconds: float | None
    """After its arrival: its first audio, or its first token; None when there was none."""
    generation_seconds: float
    """Since its first worker took it; 0 when none did."""
    migrations: int
    trail: Trail
    kind: Kind
    status: int | None = None
    """The HTTP status of its error; None for none."""
    span: Span = NO_SPAN
    """The span of the request, which is ended here."""


def settle_speech(
    gateway: Gateway, request: TtsRequest, account: Account, audio_seconds: float, *, awaited: bool
) -> None:
    """`audio_seconds`: generated in this request, not before a resumption. `awaited`: somebody waits for its
    first audio, it is not bulk.
    """
    metrics, first_seconds = gateway.metrics, account.first_seconds
    metrics.audio_seconds.inc(audio_seconds)
    if first_seconds is not None:
        exemplar = account.span.exemplar
        metrics.first_audio_seconds.observe(first_seconds, exemplar)
        metrics.request_seconds.observe(account.seconds, exemplar)
        metrics.real_time_factor.observe(account.generation_seconds / audio_seconds)
    settle(
        gateway,
        account,
        {"first_audio_seconds": first_seconds, "audio_seconds": audio_seconds},
        promised_seconds=first_seconds if awaited else None,
        voice=account.kind.voice,
        characters=len(request.text),
    )


def settle(
    gateway: Gateway,
    account: Account,
    figures: dict[str, float | int | None],
    promised_seconds: float | None = None,
    promise: FirstPromise = "first_audio",
    **facts: str | int,
) -> None:
    """One line of log and one count per request, of any kind.

    `figures`: of what was made, for the log and the trace; `facts`: of what was asked, for the log.
    `promised_seconds`: until what its client is promised within a time, where it is; `promise`: what that is.
    """
    metrics = gateway.metrics
    figures = {name: _rounded(value) for name, value in figures.items()}
    end_span(
        gateway, account.span, account.kind, request_id=account.request_id, outcome=account.outcome,
        status=account.status, first_seconds=account.first_seconds, migrations=account.migrations,
        figures=figures,
    )  # fmt: skip
    metrics.count_request(account.outcome, account.kind.protocol)
    note_request(
        metrics, account.kind, outcome=account.outcome, status=account.status,
        started=account.generation_seconds > 0, first_seconds=promised_seconds, promise=promise,
        promised_seconds=getattr(gateway.settings, f"objective_{promise}_seconds"),
    )  # fmt: skip
    gateway.operations.ended(account.outcome, figures.get("first_audio_seconds"))
    logger.info(
        "request",
        request_id=account.request_id,
        protocol=account.kind.protocol,
        outcome=account.outcome,
        **facts,
        **figures,
        seconds=round(account.seconds, 4),
        migrations=account.migrations,
        **account.trail.describe(),
    )


def _rounded(value: float | int | None) -> float | int | None:
    return round(value, 4) if isinstance(value, float) else value
