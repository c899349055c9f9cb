"""Serves batches through step programs, one step ahead of the engine.

While the device computes step n, the host has nothing to read yet; it launches step n + 1 first, for every
sequence that will go on unless the model says stop in step n. When the engine then asks for step n + 1, its
results are there or on their way:

    run(n):      launch n + 1 | read n         run(n + 1):  launch n + 2 | read n + 1

At most one patch of a sequence is computed in vain. What was computed for a sequence that the engine leaves
out of step n + 1 (paused, not its turn) is kept until the engine asks for it. One that comes back to be
computed anew, as after a preemption, has been advanced too far on the device: it loses its place there and is
rebuilt from its patches, as any sequence without a place is.

Rows with another number of solver steps than the programs have are launched when they are asked for. On a
GPU nothing is left to the free path: all others would wait while its kernels are loaded, and some compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from engine.model_runner import StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence, SequenceStatus
from engine.staging import Mark
from models.voxcpm.generation import GenerationState
from models.voxcpm.programs.language_program import LanguageProgram, LanguageRow
from models.voxcpm.programs.patch_program import Launched, PatchResult, PatchRow
from models.voxcpm.programs.step_programs import StepPrograms
from models.voxcpm.waveform_streams import WaveformStreams

Results = list[StepResult | None]
RunFreely = Callable[[list[ScheduledSequence]], Results]
MakeNoise = Callable[[GenerationState, int], np.ndarray]
MakeResult = Callable[[GenerationState, PatchResult], StepResult]


class Position(NamedTuple):
    """Of a sequence, with the block table through which it is computed."""

    sequence: Sequence
    start: int
    block_table: list[int]

    def serves(self, row: ScheduledSequence) -> bool:
        """Whether `row` asks for this position alone, in the same blocks: who gave them up has other ones."""
        return row.count == 1 and row.start == self.start and row.sequence.block_table is self.block_table


@dataclass(frozen=True, eq=False)
class Flight:
    """A step under way: what is computed in each row that gets a patch."""

    launched: Launched | Mark
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


class ProgramRunner:
    """See the module.

    Args:
        make_noise: of a request's state and a patch index: float32 [P, D], temperature included.
        make_result: of a request's state and its patch; moves the state on.
    """

    def __init__(
        self,
        programs: StepPrograms,
        streams: WaveformStreams,
        block_size: int,
        make_noise: MakeNoise,
        make_result: MakeResult,
    ) -> None:
        self._programs = programs
        self._streams = streams
        self._block_size = block_size
        self._make_noise, self._make_result = make_noise, make_result
        self._ahead: Flight | None = None
        self._kept: dict[Sequence, tuple[Position, PatchResult]] = {}
        """Of sequences that were left out of the step they were computed for."""

    def run(self, batch: Rows[ScheduledSequence], run_freely: RunFreely) -> Results:
        """One step; rows that no program fits go through `run_freely`."""
        results: Results = [None] * len(batch)
        served = self._take_kept(batch, results)
        flights = self._take_ahead(batch, served)
        flights += self._launch_decodes(batch, served)
        self._launch_replays(batch, served)
        flights += self._launch_chunks(batch, served)
        rest = [i for i in range(len(batch)) if i not in served]
        if rest:
            for i, result in zip(rest, run_freely([batch[i] for i in rest]), strict=True):
                results[i] = result
        self._ahead = self._launch_ahead(batch, results)
        for flight in flights:
            self._read(flight, batch, results)
        return results

    def release(self, sequence: Sequence) -> None:
        """Nothing more will be asked for this sequence."""
        self._kept.pop(sequence, None)

    def _take_kept(self, batch: Rows[ScheduledSequence], results: Results) -> set[int]:
        """Serve what was computed before. Returns which rows were served."""
        served = set()
        for i, row in enumerate(batch):
            kept = self._kept.pop(row.sequence, None)
            if kept is None:
                continue
            position, result = kept
            if position.serves(row):
                results[i] = self._result(row.sequence, result)
                served.add(i)
            else:
                self._streams.release(row.sequence)
        return served

    def _take_ahead(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """What was launched for this step. What is not wanted in it is kept for later."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return []
        places = {row.sequence: i for i, row in enumerate(batch)}
        wanted: list[int | None] = []
        for position in ahead.rows:
            i = places.get(position.sequence)
            asked = i is not None and position.serves(batch[i])
            if i is not None and not asked:
                self._streams.release(position.sequence)
            wanted.append(i if asked else None)
        left_out = [
            place for place, (sequence, _, _) in enumerate(ahead.rows)
            if sequence not in places and sequence.status is not SequenceStatus.FINISHED
        ]  # fmt: skip
        if left_out:
            found = ahead.launched.results()
            for place in left_out:
                position = ahead.rows[place]
                self._kept[position.sequence] = position, found[place]
        served.update(i for i in wanted if i is not None)
        return [Flight(ahead.launched, ahead.rows, wanted)]

    def _launch_decodes(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """Everything that goes on from a patch and is not under way, all at once."""
        waiting: dict[int, list[int]] = {}
        for i, row in enumerate(batch):
            if i not in served and row.count == 1 and row.samples and _ends_in_patch(row.sequence):
                waiting.setdefault(_num_steps(row), []).append(i)
        flights = []
        for num_steps, rows in waiting.items():
            flight = self._launch([(batch[i].sequence, batch[i].start, 0) for i in rows], num_steps)
            if flight is not None:
                served.update(rows)
                flights.append(Flight(flight.launched, flight.rows, rows))
        return flights

    def _launch_replays(self, batch: Rows[ScheduledSequence], served: set[int]) -> None:
        """Keys and values of patches of resumed clips, as they were computed before: by decodes.

        Their own patches are known. Nobody waits for the device here, which is a few steps behind at most.
        """
        spare = self._streams.spare_slot
        for i, row in enumerate(batch):
            if i in served or row.samples or not _is_replay(row):
                continue
            program = self._programs.for_decodes(1, row.start + 1)
            if program is None:
                continue
            self._streams.put_last(spare, row.sequence.token_ids[row.start])
            program.fill([LanguageRow(row.start, [b""], row.sequence.block_table, spare)])
            program.launch()
            served.add(i)

    def _launch(self, rows: list[tuple[Sequence, int, int]], num_steps: int) -> Flight | None:
        """Compute one position of each sequence; None when there is no row, or no program for so many.

        Rows: sequence, position, and how many of its patches are not read yet.
        """
        longest = max((start + 1 for _, start, _ in rows), default=0)
        program = self._programs.for_decodes(len(rows), longest) if rows else None
        if program is None:
            return None
        slots = self._streams.slots([sequence for sequence, _, _ in rows])
        program.fill(
            [
                LanguageRow(start, [b""], sequence.block_table, slot)
                for (sequence, start, _), slot in zip(rows, slots, strict=True)
            ]
        )
        program.launch()
        patches = [
            self._patch_row(sequence, slot, unread)
            for (sequence, _, unread), slot in zip(rows, slots, strict=True)
        ]
        positions = [Position(sequence, start, sequence.block_table) for sequence, start, _ in rows]
        return Flight(self._launch_patches(patches, False, num_steps), positions)

    def _launch_patches(self, rows: list[PatchRow], begins: bool, num_steps: int) -> Launched:
        """After the language program that computes what they are made from."""
        program = self._programs.for_patches(len(rows), begins)
        program.fill(rows)
        return program.launch(num_steps)

    def _launch_chunks(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """Chunks of prompts, in as few launches as hold them."""
        flights = []
        waiting: dict[tuple[bool, int], list[Chunk]] = {}
        for i, row in enumerate(batch):
            if i in served:
                continue
            keys = row.sequence.token_ids[row.start : row.start + row.count]
            has_audio = any(isinstance(key, bytes) for key in keys)
            if longest := self._programs.longest_chunk(has_audio):
                num_steps = _num_steps(row) if row.samples else self._programs.num_steps
                waiting.setdefault((has_audio, num_steps), []).extend(_cut(i, row, longest))
                served.add(i)
        for (has_audio, num_steps), chunks in waiting.items():
            for program, count in self._programs.pack([chunk.count for chunk in chunks], has_audio):
                taken, chunks = chunks[:count], chunks[count:]
                flights.append(self._launch_pack(program, taken, num_steps))
        return flights

    def _launch_pack(self, program: LanguageProgram, chunks: list[Chunk], num_steps: int) -> Flight:
        """Chunks in one launch, and the patches of those that end their prompts."""
        program.fill(
            [
                LanguageRow(
                    chunk.start,
                    chunk.sequence.token_ids[chunk.start : chunk.start + chunk.count],
                    chunk.sequence.block_table,
                    samples=chunk.samples,
                )
                for chunk in chunks
            ]
        )
        program.launch()
        ends = [chunk for chunk in chunks if chunk.samples]
        if not ends:
            return Flight(program.mark(), [], [])
        slots, fresh = self._streams.places([chunk.sequence for chunk in ends])
        rows = [
            self._patch_row(chunk.sequence, slot, 0, slot in fresh)
            for chunk, slot in zip(ends, slots, strict=True)
        ]
        positions = [Position(chunk.sequence, chunk.start, chunk.sequence.block_table) for chunk in ends]
        launched = self._launch_patches(rows, True, num_steps)
        return Flight(launched, positions, [chunk.index for chunk in ends])

    def _launch_ahead(self, batch: Rows[ScheduledSequence], results: Results) -> Flight | None:
        """The next step of whatever is sure to be in it unless the model ends it."""
        rows = []
        for row, result in zip(batch, results, strict=True):
            sequence, state = row.sequence, row.sequence.payload
            next_start = row.start + row.count
            unread = int(result is None)
            goes_on = (
                row.samples
                and state.num_steps == self._programs.num_steps
                and sequence in self._streams  # or its place would be built without the patch of this step
                and not (result is not None and result.stopped)
                and state.index + unread < state.max_patches
                and sequence.num_new_tokens + 1 < sequence.max_new_tokens
                and next_start < len(sequence.block_table) * self._block_size
            )
            if goes_on:
                rows.append((sequence, next_start, unread))
        return self._launch(rows, self._programs.num_steps)

    def _patch_row(self, sequence: Sequence, slot: int, unread: int, fresh: bool = False) -> PatchRow:
        """unread: how many of its patches are not read yet."""
        state = sequence.payload
        return PatchRow(slot, self._make_noise(state, state.index + unread), state.cfg_value, fresh)

    def _read(self, flight: Flight, batch: Rows[ScheduledSequence], results: Results) -> None:
        for i, found in zip(flight.wanted, flight.launched.results(), strict=True):
            if i is not None:
                results[i] = self._result(batch[i].sequence, found)

    def _result(self, sequence: Sequence, found: PatchResult) -> StepResult:
        return self._make_result(sequence.payload, found)


def _ends_in_patch(sequence: Sequence) -> bool:
    return isinstance(sequence.token_ids[-1], bytes)


def _num_steps(row: ScheduledSequence) -> int:
    """Of the solver."""
    return row.sequence.payload.num_steps


def _is_replay(row: ScheduledSequence) -> bool:
    """Whether it is one patch of a resumed clip, scheduled by itself for the sake of its bits."""
    is_patch = isinstance(row.sequence.token_ids[row.start], bytes)
    return row.count == 1 and row.start >= row.sequence.resumed_from and is_patch


def _cut(index: int, row: ScheduledSequence, longest: int) -> list[Chunk]:
    """A row of a batch as chunks of at most `longest` positions, of which the last one samples."""
    end = row.start + row.count
    return [
        Chunk(index, row.sequence, start, min(longest, end - start), row.samples and start + longest >= end)
        for start in range(row.start, end, longest)
    ]
