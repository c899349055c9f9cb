"""What is counted and told of a part of a text that was spoken again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.service import Gateway


def note_retake(gateway: Gateway, request_id: str, part: int, flaw: str, outcome: str) -> None:
    """`part` counts from 0; `outcome` is one of the metric `voxfleet_takes_total`."""
    gateway.metrics.takes.labels(outcome).inc()
    gateway.operations.log.say("retake", request_id, f"take_{outcome}", part=part + 1, flaw=flaw)
