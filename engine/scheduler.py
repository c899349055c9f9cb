from __future__ import annotations
from dataclasses import dataclass
from engine.sequence import Sequence


@dataclass(frozen=True)
class ScheduledSequence:
    """Compute positions [start, start + count) of a sequence."""

    sequence: Sequence
    start: int
    count: int

    @property
    def samples(self) -> bool:
        """Whether the last position is included, so that a new token comes out."""
        return self.start + self.count == len(self.sequence)
