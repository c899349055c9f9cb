"""What clients are promised, and how often it is missed, for alerts that look at the rate of misses.

    first_audio  of clips that were heard, bulk left out, and of live utterances that came while nothing was
                 said: the first audio came within `objective_first_audio_seconds`
    first_token  of answers of text models, bulk left out: the first token came within
                 `objective_first_token_seconds`
    lost         of requests that a worker took: they did not fail for a reason of the service's
    refused      of requests that could have been served, and are not tried again as those of jobs are: there
                 was room for them
    underruns    of clips and live sessions whose player reported: it never had nothing to play

Requests that their client ended, or that asked for what there is not, count for none of them. Two counters,
all and the missed ones, make a rate over any window: missed / all. The share that may be missed, the budget,
is a setting and a metric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.callers.identity import ADMINISTRATOR
from gateway.metrics import Metrics
from gateway.operations.overload import REFUSALS
from gateway.settings import GatewaySettings
from gateway.voices.registry import is_id
from gateway.voices.resolution import VoiceKind

FirstPromise = Literal["first_audio", "first_token"]
Objective = Literal[FirstPromise, "lost", "refused", "underruns"]
OBJECTIVES: tuple[Objective, ...] = ("first_audio", "first_token", "lost", "refused", "underruns")
JOBS = "jobs"
"""The protocol of requests for which nobody waits: one that is refused is made again later."""
_CLIENTS = frozenset({"client_gone", "cancelled"})
"""Outcomes of requests that their client ended."""


def promise(metrics: Metrics, settings: GatewaySettings) -> None:
    """Say what is promised, for the rules that judge it."""
    metrics.objective_seconds.set(settings.objective_first_audio_seconds)
    metrics.objective_token_seconds.set(settings.objective_first_token_seconds)
    for name in OBJECTIVES:
        metrics.objective_budget.labels(name).set(getattr(settings, f"objective_{name}_budget"))


@dataclass(frozen=True)
class Kind:
    """The kind of a request: labels with few values, whatever clients send."""

    model: str
    """Which spoke it; "" for none."""
    voice: VoiceKind | Literal["none"]
    """"none" for text."""
    protocol: str
    tenant: Literal["key", "administrator", "anonymous"]

    @classmethod
    def of(cls, *, model: str | None, voice: str | None, protocol: str, tenant: str) -> Kind:
        """`voice`: a name or an id, None for text; `tenant`: whose request it is."""
        if tenant == ADMINISTRATOR:
            caller = "administrator"
        else:
            caller = "key" if tenant.startswith("key:") else "anonymous"
        spoken = "custom" if voice is not None and is_id(voice) else "built_in"
        return cls(model or "", "none" if voice is None else spoken, protocol, caller)


def note(metrics: Metrics, objective: Objective, kind: Kind, *, missed: bool) -> None:
    """One more that counts for an objective; its misses are told from then on, as 0 at first."""
    labels = _labels(metrics, objective, kind)
    metrics.objective_events.labels(*labels).inc()
    metrics.objective_misses.labels(*labels).inc(missed)


def note_missed(metrics: Metrics, objective: Objective, kind: Kind) -> None:
    """A miss of one that `note` counted when it had not missed yet."""
    metrics.objective_misses.labels(*_labels(metrics, objective, kind)).inc()


def _labels(metrics: Metrics, objective: Objective, kind: Kind) -> tuple[str, ...]:
    return (objective, metrics.bounded_model(kind.model), kind.voice, kind.protocol, kind.tenant)


def note_request(
    metrics: Metrics,
    kind: Kind,
    *,
    outcome: str,
    status: int | None,
    started: bool,
    first_seconds: float | None,
    promised_seconds: float,
    promise: FirstPromise = "first_audio",
) -> None:
    """A request ended. `status`: that of its error, as HTTP has it, or None; `started`: a worker took it;
    `first_seconds`: until what `promise` is about, None where that counts for nothing.
    """
    if outcome in _CLIENTS:
        return
    if started:
        failed = status is not None and status >= 500
        note(metrics, "lost", kind, missed=failed)
    no_room = not started and (outcome in REFUSALS or status == 503)
    if (started or no_room) and kind.protocol != JOBS:
        note(metrics, "refused", kind, missed=no_room)
    if first_seconds is not None:
        note(metrics, promise, kind, missed=first_seconds > promised_seconds)
