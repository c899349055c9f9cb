"""What is counted and logged of a request at its end, however it ended. The text is nobody's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from gateway.operations.objectives import Kind, note_request
from gateway.synthesis.tracing import end_span
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
    audio_seconds: float
    """Generated in this request, not before a resumption."""
    first_audio_seconds: float | None
    """After its arrival; None when there was no audio."""
    generation_seconds: float
    """Since its first worker took it; 0 when none did."""
    migrations: int
    kind: Kind
    status: int | None = None
    """Of its error, as HTTP has it; None for none."""
    awaited: bool = True
    """Somebody waits for its first audio: it is not bulk."""
    span: Span = NO_SPAN
    """What is told of it; ended here."""


def settle(gateway: Gateway, request: TtsRequest, account: Account) -> None:
    """One line of log and one count per request."""
    metrics = gateway.metrics
    end_span(
        gateway, account.span, account.kind, request_id=account.request_id, outcome=account.outcome,
        status=account.status, first_audio_seconds=account.first_audio_seconds,
        audio_seconds=account.audio_seconds, migrations=account.migrations,
    )  # fmt: skip
    exemplar = account.span.exemplar
    metrics.count_request(account.outcome, account.kind.protocol)
    note_request(
        metrics, account.kind, outcome=account.outcome, status=account.status,
        started=account.generation_seconds > 0,
        first_audio_seconds=account.first_audio_seconds if account.awaited else None,
        promised_seconds=gateway.settings.objective_first_audio_seconds,
    )  # fmt: skip
    metrics.audio_seconds.inc(account.audio_seconds)
    if account.first_audio_seconds is not None:
        metrics.first_audio_seconds.observe(account.first_audio_seconds, exemplar)
        metrics.request_seconds.observe(account.seconds, exemplar)
        metrics.real_time_factor.observe(account.generation_seconds / account.audio_seconds)
    gateway.operations.ended(account.outcome, account.first_audio_seconds)
    first_audio_seconds = account.first_audio_seconds
    logger.info(
        "request",
        request_id=account.request_id,
        protocol=account.kind.protocol,
        outcome=account.outcome,
        voice=request.voice,
        characters=len(request.text),
        audio_seconds=round(account.audio_seconds, 3),
        seconds=round(account.seconds, 4),
        first_audio_seconds=None if first_audio_seconds is None else round(first_audio_seconds, 4),
        migrations=account.migrations,
    )
