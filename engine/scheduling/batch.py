"""What one step computes of one sequence."""

from __future__ import annotations

from typing import NamedTuple

from engine.sequence import Sequence


class ScheduledSequence(NamedTuple):
    """Compute positions [start, start + count) of a sequence; `count` is 1 for a decode."""

    sequence: Sequence
    start: int
    count: int

    @property
    def samples(self) -> bool:
        """Whether the last position is included, so that a new token comes out."""
        return self.start + self.count == len(self.sequence.token_ids)


def chunk(sequence: Sequence, budget: int, alone: bool) -> ScheduledSequence:
    """The next positions of a prefill.

    alone: nobody else runs or waits. Then what an earlier attempt generated is computed one by one, see
    `Sequence.num_resumed_tokens`.
    """
    start = sequence.num_computed_tokens
    count = min(sequence.num_uncomputed_tokens, budget)
    if alone and sequence.num_resumed_tokens:
        count = min(count, max(1, sequence.resumed_from - start))
    return ScheduledSequence(sequence, start, count)
