"""Serves batches one step ahead of the engine.

While the device computes step n, the host has nothing to read yet. So it launches step n + 1 first, for every
sequence that will go on unless the model says stop in step n. When the engine then asks for step n + 1, its
results are there or on their way:

    run(n):      launch n + 1 | read n         run(n + 1):  launch n + 2 | read n + 1

At most one token of a sequence is computed in vain. What was computed for a sequence that the engine leaves
out of step n + 1 (paused, not its turn) is kept until the engine asks for it. That holds when it has other
blocks by then, too, if what it had computed came back to them or the family can write it there. A sequence
that comes back to be computed anew, as after a preemption, has been advanced too far on the device: it loses
its place there and is rebuilt, as any sequence without a place is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from engine.model_runner import Meanwhile, StepResult
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence, SequenceStatus

Results = list[StepResult | None]
RunFreely = Callable[[list[ScheduledSequence]], Results]


class UnderWay(Protocol):
    """A step that was launched and not read yet."""

    def results(self) -> Rows[Any]:
        """One of each row; waits for the device."""


class Position(NamedTuple):
    """One position of a sequence, with the block table through which it is computed.

    unread: how many tokens of the sequence were not read yet when it was launched.
    """

    sequence: Sequence
    start: int
    block_table: list[int]
    unread: int = 0

    @classmethod
    def of(cls, row: ScheduledSequence | Chunk) -> Position:
        return cls(row.sequence, row.start, row.sequence.block_table)

    def serves(self, row: ScheduledSequence) -> bool:
        """Whether `row` asks for this position alone, in the same blocks: who gave them up has other ones."""
        return self.is_at(row) and row.sequence.block_table is self.block_table

    def is_at(self, row: ScheduledSequence) -> bool:
        """Whether `row` asks for this position alone."""
        return row.count == 1 and row.start == self.start


@dataclass(frozen=True, eq=False)
class Flight:
    """A step under way: what is computed in each row that gets a token."""

    launched: UnderWay
    rows: list[Position]
    wanted: list[int | None] = field(default_factory=list)
    """For each row, the row of the batch that it serves."""


@dataclass(frozen=True)
class Chunk:
    """Positions [start, start + count) of the sequence in row `index` of a batch."""

    index: int
    sequence: Sequence
    start: int
    count: int
    samples: bool

    @property
    def tokens(self) -> list[int | bytes]:
        return self.sequence.token_ids[self.start : self.start + self.count]


class AheadRunner(ABC):
    """See the module. A family launches and reads what is its own."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._ahead: Flight | None = None
        self._kept: dict[Sequence, tuple[Position, Any]] = {}
        """Results of sequences that were left out of the step they were computed for."""

    @abstractmethod
    def _launch_rows(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """Launch what is not under way, marking it as served; what is left is run freely."""

    @abstractmethod
    def _launch(self, rows: list[Position]) -> Flight | None:
        """Launch one position of each sequence; None when there is no program for so many."""

    @abstractmethod
    def _goes_on(self, sequence: Sequence, unread: int) -> bool:
        """Whether a sequence may be launched ahead, as far as the family knows."""

    @abstractmethod
    def _lose_place(self, sequence: Sequence) -> None:
        """The device has advanced a sequence too far: forget what it remembers of it."""

    def _write_again(self, row: ScheduledSequence) -> bool:
        """Write the keys and values of a position whose result is known to the blocks that its sequence has
        now; False where that takes as long as the result itself."""
        return False

    @abstractmethod
    def _result(self, sequence: Sequence, found: Any) -> StepResult:
        """The result of what was computed for a sequence; moves its state on."""

    def run(
        self, batch: Rows[ScheduledSequence], run_freely: RunFreely, meanwhile: Meanwhile | None = None
    ) -> Results:
        """One step; rows that no program fits go through `run_freely`. meanwhile: see `ModelRunner`."""
        results: Results = [None] * len(batch)
        served = self._take_kept(batch, results)
        flights = self._take_ahead(batch, served)
        if len(served) < len(batch):
            flights += self._launch_rows(batch, served)
        rest = [i for i in range(len(batch)) if i not in served]
        if rest:
            for i, result in zip(rest, run_freely([batch[i] for i in rest]), strict=True):
                results[i] = result
        self._ahead = self._launch_ahead(batch, results)
        if meanwhile is not None:
            meanwhile(batch)
        for flight in flights:
            for i, found in zip(flight.wanted, flight.launched.results(), strict=True):
                if i is not None:
                    results[i] = self._result(batch[i].sequence, found)
        return results

    def release(self, sequence: Sequence) -> None:
        """Nothing more will be asked for this sequence."""
        self._kept.pop(sequence, None)

    def _take_kept(self, batch: Rows[ScheduledSequence], results: Results) -> set[int]:
        """Serve what was computed before. Returns which rows were served."""
        served: set[int] = set()
        if not self._kept:
            return served
        for i, row in enumerate(batch):
            kept = self._kept.pop(row.sequence, None)
            if kept is None:
                continue
            position, found = kept
            if self._answers(position, row):
                results[i] = self._result(row.sequence, found)
                served.add(i)
            else:
                self._lose_place(row.sequence)
        return served

    def _answers(self, position: Position, row: ScheduledSequence) -> bool:
        """Whether what was launched for a position is what `row` asks for."""
        if position.serves(row):
            return True
        return position.is_at(row) and (self._came_back(row) or self._write_again(row))

    def _came_back(self, row: ScheduledSequence) -> bool:
        """Whether the cache gave the sequence back all before this position. Then the last block came along
        as it was, with what had been launched ahead in it, unless the position begins a block."""
        return row.start % self._block_size > 0 and row.sequence.num_cached_tokens == row.start

    def _take_ahead(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """What was launched for this step. What is not wanted in it is kept for later."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return []
        places = {row.sequence: i for i, row in enumerate(batch)}
        wanted: list[int | None] = []
        for position in ahead.rows:
            i = places.get(position.sequence)
            asked = i is not None and self._answers(position, batch[i])
            if i is not None and not asked:
                self._lose_place(position.sequence)
            wanted.append(i if asked else None)
        left_out = [
            place for place, (position, i) in enumerate(zip(ahead.rows, wanted, strict=True))
            if i is None
            and position.sequence not in places
            and position.sequence.status is not SequenceStatus.FINISHED
        ]  # fmt: skip
        if left_out:
            found = ahead.launched.results()
            for place in left_out:
                position = ahead.rows[place]
                self._kept[position.sequence] = position, found[place]
        served.update(i for i in wanted if i is not None)
        return [Flight(ahead.launched, ahead.rows, wanted)]

    def _launch_ahead(self, batch: Rows[ScheduledSequence], results: Results) -> Flight | None:
        """The next step of whatever is sure to be in it unless the model ends it."""
        rows = []
        for row, result in zip(batch, results, strict=True):
            sequence, next_start = row.sequence, row.start + row.count
            total, unread = len(sequence.token_ids), result is None
            if (
                next_start == total  # it samples
                and (unread or not result.stopped)
                and sequence.goes_on
                and next_start < len(sequence.block_table) * self._block_size
                and self._goes_on(sequence, int(unread))
            ):
                rows.append(Position(sequence, next_start, sequence.block_table, int(unread)))
        return self._launch(rows) if rows else None


def chunks_of(index: int, row: ScheduledSequence, longest: int) -> list[Chunk]:
    """A row of a batch as chunks of at most `longest` positions, of which the last one samples."""
    end = row.start + row.count
    return [
        Chunk(index, row.sequence, start, min(longest, end - start), row.samples and start + longest >= end)
        for start in range(row.start, end, longest)
    ]
