"""What is to be done, with reasons that the event log can say in every language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reason:
    """One of the sayings `fleet_...` of `gateway/operations/sayings.py`, with its facts."""

    saying: str
    facts: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """Start `count` workers of `kind`."""

    kind: str
    count: int
    reason: Reason


@dataclass(frozen=True)
class Drain:
    """Let one worker of `kind` that serves finish its streams, and stop it."""

    kind: str
    reason: Reason
    unplaced: bool = False
    """One that waits for a machine instead, which it needs no more."""


@dataclass(frozen=True)
class Note:
    """What cannot be done about workers of `kind`, or would not help."""

    kind: str
    reason: Reason


@dataclass(frozen=True)
class Decision:
    """At most one worker drains at a time in the whole fleet."""

    starts: tuple[Start, ...] = ()
    drain: Drain | None = None
    notes: tuple[Note, ...] = ()

    @property
    def reasons(self) -> tuple[tuple[str, Reason], ...]:
        """Each with the kind of workers that it is about."""
        drains = () if self.drain is None else (self.drain,)
        return tuple((said.kind, said.reason) for said in (*self.starts, *drains, *self.notes))

    def started(self, kind: str) -> int:
        """How many workers of the kind are to be started."""
        return sum(start.count for start in self.starts if start.kind == kind)
