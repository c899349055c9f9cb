"""Serves batches of VoxCPM through its step programs, one step ahead of the engine (`engine.programs.ahead`).

Rows with another number of solver steps than the programs have are launched when they are asked for. On a
GPU nothing is left to the free path: all others would wait while its kernels are loaded, and some compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows

import numpy as np

from engine.model_runner import StepResult
from engine.programs.ahead import AheadRunner, Chunk, Flight, Position, chunks_of
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence
from models.voxcpm.generation import GenerationState
from models.voxcpm.programs.language_program import LanguageProgram, LanguageRow
from models.voxcpm.programs.patch_program import Launched, PatchResult, PatchRow
from models.voxcpm.programs.step_programs import StepPrograms
from models.voxcpm.waveform_streams import WaveformStreams

MakeNoise = Callable[[GenerationState, int], np.ndarray]
MakeResult = Callable[[GenerationState, PatchResult], StepResult]


class ProgramRunner(AheadRunner):
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
        super().__init__(block_size)
        self._programs = programs
        self._streams = streams
        self._make_noise, self._make_result = make_noise, make_result

    def _launch_rows(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        flights = self._launch_decodes(batch, served)
        self._launch_replays(batch, served)
        return flights + self._launch_chunks(batch, served)

    def _launch(self, rows: list[Position]) -> Flight | None:
        return self._launch_patches_of(rows, self._programs.num_steps)

    def _goes_on(self, sequence: Sequence, unread: int) -> bool:
        state = sequence.payload
        return (
            state.num_steps == self._programs.num_steps
            and sequence in self._streams  # or its place would be built without the patch of this step
            and state.index + unread < state.max_patches
        )

    def _lose_place(self, sequence: Sequence) -> None:
        self._streams.release(sequence)

    def _result(self, sequence: Sequence, found: PatchResult) -> StepResult:
        return self._make_result(sequence.payload, found)

    def _launch_decodes(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        """Everything that goes on from a patch and is not under way, all at once."""
        waiting: dict[int, list[int]] = {}
        for i, row in enumerate(batch):
            if i not in served and row.count == 1 and row.samples and _ends_in_patch(row.sequence):
                waiting.setdefault(_num_steps(row), []).append(i)
        flights = []
        for num_steps, rows in waiting.items():
            flight = self._launch_patches_of([Position.of(batch[i]) for i in rows], num_steps)
            if flight is not None:
                served.update(rows)
                flights.append(Flight(flight.launched, flight.rows, rows))
        return flights

    def _launch_replays(self, batch: Rows[ScheduledSequence], served: set[int]) -> None:
        """Keys and values of patches of resumed clips, as they were computed before: by decodes.

        Their own patches are known. Nobody waits for the device here, which is a few steps behind at most.
        """
        for i, row in enumerate(batch):
            if i not in served and not row.samples and _is_replay(row) and self._replay(row):
                served.add(i)

    def _write_again(self, row: ScheduledSequence) -> bool:
        return _ends_in_patch(row.sequence) and self._replay(row)

    def _replay(self, row: ScheduledSequence) -> bool:
        """Compute the keys and values of one patch; False: there is no program for that."""
        program = self._programs.for_decodes(1, row.start + 1)
        if program is None:
            return False
        spare = self._streams.spare_slot
        self._streams.put_last(spare, row.sequence.token_ids[row.start])
        program.fill([LanguageRow(row.start, [b""], row.sequence.block_table, spare)])
        program.launch()
        return True

    def _launch_patches_of(self, rows: list[Position], num_steps: int) -> Flight | None:
        """The next patch of each sequence; None when there is no program for so many."""
        longest = max(row.start + 1 for row in rows)
        program = self._programs.for_decodes(len(rows), longest)
        if program is None:
            return None
        slots = self._streams.slots([row.sequence for row in rows])
        program.fill(
            [
                LanguageRow(row.start, [b""], row.block_table, slot)
                for row, slot in zip(rows, slots, strict=True)
            ]
        )
        program.launch()
        patches = [
            self._patch_row(row.sequence, slot, row.unread) for row, slot in zip(rows, slots, strict=True)
        ]
        return Flight(self._launch_patches(patches, False, num_steps), rows)

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
                waiting.setdefault((has_audio, num_steps), []).extend(chunks_of(i, row, longest))
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
                LanguageRow(chunk.start, chunk.tokens, chunk.sequence.block_table, samples=chunk.samples)
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
        positions = [Position.of(chunk) for chunk in ends]
        launched = self._launch_patches(rows, True, num_steps)
        return Flight(launched, positions, [chunk.index for chunk in ends])

    def _patch_row(self, sequence: Sequence, slot: int, unread: int, fresh: bool = False) -> PatchRow:
        """unread: how many of its patches are not read yet."""
        state = sequence.payload
        return PatchRow(slot, self._make_noise(state, state.index + unread), state.cfg_value, fresh)


def _ends_in_patch(sequence: Sequence) -> bool:
    return isinstance(sequence.token_ids[-1], bytes)


def _num_steps(row: ScheduledSequence) -> int:
    """Of the solver."""
    return row.sequence.payload.num_steps


def _is_replay(row: ScheduledSequence) -> bool:
    """Whether it is one patch of a resumed clip, scheduled by itself for the sake of its bits."""
    is_patch = isinstance(row.sequence.token_ids[row.start], bytes)
    return row.count == 1 and row.start >= row.sequence.resumed_from and is_patch
