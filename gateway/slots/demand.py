"""What is asked for and felt, in totals per model: what an autoscaler goes by, and `/metrics` shows.

A total counts from the start of the gateway. Requests that name no model count under "", or, for text, under
the text model that there is. Answers count in seconds of audio, too, each token as if it were spoken
(`line/charge.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gateway.slots.capacity.worker import Worker
from gateway.slots.line.standing import Priority
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement

_CLIP, _ANSWER = "clip", "answer"
_NEWEST_WEIGHT = 0.1
"""Weight of the last answer in the expected length of those to come."""


@dataclass(slots=True)
class ModelDemand:
    """What is asked of one model; times are readings of the pool's clock."""

    requests: int = 0
    """How many requests were let in."""
    audio_seconds_asked: float = 0.0
    """Seconds of audio that they ask for, as estimated from their texts."""
    answer_seconds: float | None = None
    """Expected seconds of an answer, by the last ones; None before the first."""
    first_audios: int = 0
    """First audios of clips that somebody waits for; of text models, first tokens."""
    late: int = 0
    """How many of these were later than the objective."""
    refused: int = 0
    """How many were refused for lack of capacity."""
    underruns: int = 0
    """How many players reported an underrun."""
    last_request_at: float = -math.inf
    last_served_at: float = -math.inf
    """When a process of it last began to serve."""


class Demand:
    """The totals of one gateway."""

    def __init__(self) -> None:
        self.objective_seconds = 1.0
        """A first audio that takes longer is late."""
        self.first_token_seconds = 2.0
        """A first token, likewise."""
        self.models: dict[str, ModelDemand] = {}
        self._text_model = ""
        """The text model that served last."""
        self._boots: dict[str, str | None] = {}
        """Per worker: the process that served last."""

    def came(self, requirement: Requirement, audio_seconds: float, now: float) -> None:
        """A request that some worker serves, or soon will, was let in or refused for lack of room."""
        model = self.of(self.name_of(requirement))
        model.requests += 1
        if requirement.kind == "text" and model.answer_seconds is not None:
            audio_seconds = model.answer_seconds  # nothing in a prompt tells how long its answer will be
        model.audio_seconds_asked += audio_seconds
        model.last_request_at = now

    def answered(self, requirement: Requirement, audio_seconds: float) -> None:
        """An answer was written, as long as that."""
        model = self.of(self.name_of(requirement))
        known = audio_seconds if model.answer_seconds is None else model.answer_seconds
        model.answer_seconds = known + _NEWEST_WEIGHT * (audio_seconds - known)

    def refused(self, requirement: Requirement) -> None:
        """A request was refused for lack of capacity. Names that nobody is known to serve are not kept."""
        name = self.name_of(requirement)
        self.of(name if name in self.models else None).refused += 1

    def heard(self, ticket: Ticket, now: float) -> None:
        """The first audio or token of a request. What was waited before the newest worker served does not
        count.
        """
        promised = {_CLIP: self.objective_seconds, _ANSWER: self.first_token_seconds}.get(ticket.mode)
        if ticket.heard or promised is None or ticket.standing.priority is Priority.BULK:
            return
        ticket.heard = True
        model = self.of(self.name_of(ticket.requirement))
        model.first_audios += 1
        model.late += now - max(ticket.enqueued_at, model.last_served_at) > promised

    def underran(self, name: str | None, count: int) -> None:
        """A player had nothing to play, so many times."""
        self.of(name if name in self.models else None).underruns += count

    def served(self, worker: Worker, now: float) -> None:
        """The worker serves; a new process of it counts."""
        if worker.model is not None and self._boots.get(worker.id) != worker.boot_id:
            self._boots[worker.id] = worker.boot_id
            if worker.model.kind == "text":
                self._text_model = worker.model.name
            for name in ("", worker.model.name):
                self.of(name).last_served_at = now

    def forget(self, worker: Worker) -> None:
        """The worker is gone."""
        self._boots.pop(worker.id, None)

    def name_of(self, requirement: Requirement) -> str:
        """Under which a request counts."""
        return requirement.model or (self._text_model if requirement.kind == "text" else "")

    def of(self, name: str | None) -> ModelDemand:
        """The demand for one model; None and "" stand for any."""
        return self.models.setdefault(name or "", ModelDemand())
