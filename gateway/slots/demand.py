"""What is asked for and felt, in totals per model: what an autoscaler goes by, and `/metrics` shows.

A total counts from the start of the gateway. Requests that name no model count under "".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gateway.slots.requirement import Requirement
from gateway.slots.standing import Priority
from gateway.slots.tickets import Ticket
from gateway.slots.worker import Worker

_CLIP = "clip"


@dataclass(slots=True)
class ModelDemand:
    """Of one model; times are readings of the pool's clock."""

    requests: int = 0
    """That were let in."""
    audio_seconds_asked: float = 0.0
    """By them, as estimated from their texts."""
    first_audios: int = 0
    """Of clips that somebody waits for."""
    late: int = 0
    """Of these, later than the objective."""
    refused: int = 0
    """For lack of capacity."""
    underruns: int = 0
    """As players reported."""
    last_request_at: float = -math.inf
    last_served_at: float = -math.inf
    """When a process of it last began to serve."""


class Demand:
    """The totals of one gateway."""

    def __init__(self) -> None:
        self.objective_seconds = 1.0
        """A first audio that takes longer is late."""
        self.models: dict[str, ModelDemand] = {}
        self._boots: dict[str, str | None] = {}
        """Per worker: the process that served last."""

    def came(self, requirement: Requirement, audio_seconds: float, now: float) -> None:
        """A request that some worker serves, or soon will, was let in or refused for lack of room."""
        model = self.of(requirement.model)
        model.requests += 1
        model.audio_seconds_asked += audio_seconds
        model.last_request_at = now

    def refused(self, requirement: Requirement) -> None:
        """A request was refused for lack of capacity. Names that nobody is known to serve are not kept."""
        known = requirement.model if requirement.model in self.models else None
        self.of(known).refused += 1

    def heard(self, ticket: Ticket, now: float) -> None:
        """The first audio of a request. What was waited before the newest worker served does not count."""
        if ticket.heard or ticket.mode != _CLIP or ticket.standing.priority is Priority.BULK:
            return
        ticket.heard = True
        model = self.of(ticket.requirement.model)
        model.first_audios += 1
        model.late += now - max(ticket.enqueued_at, model.last_served_at) > self.objective_seconds

    def underran(self, name: str | None, count: int) -> None:
        """A player had nothing to play, so many times."""
        self.of(name if name in self.models else None).underruns += count

    def served(self, worker: Worker, now: float) -> None:
        """The worker serves; a new process of it counts."""
        if worker.model is not None and self._boots.get(worker.id) != worker.boot_id:
            self._boots[worker.id] = worker.boot_id
            for name in ("", worker.model.name):
                self.of(name).last_served_at = now

    def forget(self, worker: Worker) -> None:
        """The worker is gone."""
        self._boots.pop(worker.id, None)

    def of(self, name: str | None) -> ModelDemand:
        """Of one model; None and "" stand for any."""
        return self.models.setdefault(name or "", ModelDemand())
