"""What the client of a live session is told, message by message."""

from __future__ import annotations

from typing import Any

from gateway.errors import ApiError
from gateway.live.session.states import Outlet
from gateway.live.session.timeline import Spoken, Timeline, Utterance


class Announcements:
    """Each message has the epoch in which it is told; after `close` nothing is."""

    def __init__(self, outlet: Outlet, timeline: Timeline) -> None:
        self._outlet = outlet
        self._timeline = timeline
        self.closed = False
        self._queued = self._started = False
        """Whether its place in the queue, or its slot, was told already."""

    def close(self) -> None:
        """Nothing is told any more."""
        self.closed = True

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """It waits; not told when another worker is to go on with what was begun."""
        if self._started:
            return
        kind = "queue_update" if self._queued else "queued"
        self._queued = True
        eta_seconds = None if eta_seconds is None else round(eta_seconds, 3)
        self._tell(kind, ticket_id=ticket_id, position=position, eta_seconds=eta_seconds)

    def started(self, worker_id: str, sample_rate: int, **facts: Any) -> None:
        """It has a slot; not told again when another worker just goes on."""
        if not self._started:
            self._started = True
            self._tell("started", worker_id=worker_id, sample_rate=sample_rate, **facts)

    def queues_anew(self) -> None:
        """The slot is gone for good: the next place in the queue, and the next slot, are told again."""
        self._queued = self._started = False

    def released(self, reason: str) -> None:
        """The slot was given back."""
        self._tell("released", reason=reason)

    def utterance(self, utterance: Utterance) -> None:
        """An utterance is being spoken."""
        self._tell(
            "utterance",
            index=utterance.index,
            text=utterance.text,
            start=utterance.start,
            end=utterance.end,
            first_sample=utterance.first_sample,
        )

    def utterance_done(self, ended: Utterance, finish_reason: str) -> None:
        """An utterance is complete."""
        self._tell(
            "utterance_done",
            index=ended.index,
            last_sample=ended.first_sample + ended.samples,
            finish_reason=finish_reason,
        )

    def silence_done(self) -> None:
        """A silence that was appended is complete."""
        self._tell("silence_done")

    def cancelled(self, spoken: Spoken, played_samples: int, unspoken_characters: int) -> None:
        """A new epoch has begun; what of the old one was heard."""
        self._tell(
            "cancelled", spoken_text=spoken.text, spoken_characters=spoken.characters,
            estimated=spoken.estimated, played_samples=played_samples,
            unspoken_characters=unspoken_characters, next_sample=self._timeline.samples,
        )  # fmt: skip

    def paused(self, limit_seconds: float) -> None:
        """The worker rests."""
        self._tell("paused", limit_seconds=limit_seconds)

    def resumed(self) -> None:
        """The session goes on after a pause."""
        self._tell("resumed")

    def idle(self, seconds: float) -> None:
        """The session ends in so many seconds if nothing is said."""
        self._tell("idle", closes_in_seconds=seconds)

    def error(self, error: ApiError) -> None:
        """An error that does not end the session."""
        self._tell("error", fatal=False, **error.to_dict())

    def _tell(self, kind: str, **fields: Any) -> None:
        if not self.closed:
            self._outlet.tell({"type": kind, "epoch": self._timeline.epoch, **fields})
