"""On a CPU the patches of the next step are computed beside the audio of this one.

The next patch needs the last one, not its audio, so the two can be in different threads:

    thread of the engine:   patches n | audio n, results |    wait | audio n + 1, results |    wait
    thread beside it:                 | patches n + 1         | patches n + 2                   | ...

No patch becomes later by that; the first audio of a clip is made before anything else begins. It is known by
then whether the model ends the clip with a patch, so hardly any patch is computed in vain: only where
somebody leaves, or a clip falls silent.

What is computed ahead writes to the cache, at positions that its sequence owns; before anything else is
computed, it is waited for. What the engine does not ask for in the next step (paused, not its turn) is kept
for as long as the sequence has the same blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from collections.abc import Sequence as Rows
from concurrent.futures import Future
from typing import NamedTuple

from torch import Tensor

from engine.cpu.threads import StepThreads
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence, SequenceStatus
from models.voxcpm.requests.generation import GenerationState

logger = logging.getLogger(__name__)


class Wanted(NamedTuple):
    """What a patch is made with, of `GenerationState`."""

    num_steps: int
    cfg_value: float
    adapter: None = None


class Part(NamedTuple):
    """Positions of one sequence to compute, from `start` on.

    index: of the patch that comes out where the last position `samples`. state: `Wanted` alone where the
    noise is known.
    """

    keys: list[int | bytes]
    start: int
    block_table: list[int]
    samples: bool
    state: GenerationState | Wanted
    index: int


class Made(NamedTuple):
    """Patches fp32 [N, P, D] and stop decisions [N] of some rows."""

    rows: list[int]
    patches: Tensor
    stops: Tensor


class _Kept(NamedTuple):
    """A patch [1, P, D] and its stop decision [1], computed at `start` through `block_table`."""

    start: int
    block_table: list[int]
    patch: Tensor
    stop: Tensor

    def serves(self, row: ScheduledSequence) -> bool:
        """Whether it is this that `row` asks for; who gave its blocks up has other ones."""
        return row.count == 1 and row.start == self.start and row.sequence.block_table is self.block_table


Compute = Callable[[list[Part]], tuple[Tensor, Tensor]]
"""Patches fp32 [N, P, D] and stop decisions [N] of those parts that sample."""


class StepAhead:
    """Computes the next step of whatever is sure to be in it.

    Args:
        compute: of the thread beside as well as of this one, never of both at once.
        block_size: positions per block of the cache.
    """

    def __init__(self, compute: Compute, threads: StepThreads, block_size: int) -> None:
        self._compute, self._threads, self._block_size = compute, threads, block_size
        self._under_way: tuple[list[Sequence], list[Part], Future] | None = None
        self._kept: dict[Sequence, _Kept] = {}

    def take(self, batch: Rows[ScheduledSequence]) -> list[Made]:
        """What is there already of the patches of `batch`. Raises what computing them raised."""
        self._land(batch)
        made = []
        for i, row in enumerate(batch):
            kept = self._kept.pop(row.sequence, None)
            if kept and kept.serves(row):
                made.append(Made([i], kept.patch, kept.stop))
        return made

    def launch(self, batch: Rows[ScheduledSequence], made: Made) -> None:
        """Begin the next step of these rows, while the caller has the audio of this one to compute."""
        if not self._threads.may_share:
            return
        latents, stops = made.patches.numpy(), made.stops.tolist()
        sequences, parts = [], []
        for i, latent, stop in zip(made.rows, latents, stops, strict=True):
            part = self._next_part(batch[i], latent.tobytes(), bool(stop))
            if part is not None:
                sequences.append(batch[i].sequence)
                parts.append(part)
        if parts:
            work = self._threads.beside(lambda: self._compute(parts))
            self._under_way = sequences, parts, work

    def settle(self) -> None:
        """Return once nothing is computed beside the caller; what was is kept."""
        self._land(())

    def release(self, sequence: Sequence) -> None:
        """Nothing more will be asked for this sequence."""
        self._kept.pop(sequence, None)

    def _next_part(self, row: ScheduledSequence, key: bytes, stop: bool) -> Part | None:
        """The position after `row`, None where the clip ends before it or it has no block yet."""
        sequence, state = row.sequence, row.sequence.payload
        start = row.start + row.count
        goes_on = (
            not state.ends(stop)
            and sequence.num_new_tokens + 1 < sequence.max_new_tokens
            and start < len(sequence.block_table) * self._block_size
        )
        return Part([key], start, sequence.block_table, True, state, state.index + 1) if goes_on else None

    def _land(self, batch: Rows[ScheduledSequence]) -> None:
        """Wait for what is under way, and keep it."""
        if self._under_way is None:
            return
        (sequences, parts, work), self._under_way = self._under_way, None
        try:
            patches, stops = self._threads.wait(work)
        except Exception:
            if {row.sequence for row in batch}.isdisjoint(sequences):
                logger.exception("a step ahead failed that nobody asks for")
                return
            raise
        for i, (sequence, part) in enumerate(zip(sequences, parts, strict=True)):
            if sequence.status is not SequenceStatus.FINISHED:
                kept = _Kept(part.start, part.block_table, patches[i : i + 1], stops[i : i + 1])
                self._kept[sequence] = kept


def part_of(row: ScheduledSequence) -> Part:
    """The part of a sequence that a row of a batch computes."""
    sequence, state = row.sequence, row.sequence.payload
    keys = sequence.token_ids[row.start : row.start + row.count]
    return Part(keys, row.start, sequence.block_table, row.samples, state, state.index)
