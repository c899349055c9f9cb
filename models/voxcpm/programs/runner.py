"""Serves batches of VoxCPM through its step programs, one step ahead of the engine (`engine.programs.ahead`).

Rows with another number of solver steps than the programs have are launched when they are asked for. On a
GPU nothing is left to the free path: all others would wait while its kernels are loaded, and some compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import EngineError
from engine.layers.low_rank import spread_out
from engine.model_runner import StepResult
from engine.programs.ahead import AheadRunner, Chunk, Flight, Position, chunks_of
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.voxcpm.programs.language_program import LanguageProgram, LanguageRow
from models.voxcpm.programs.patch_program import Launched, PatchResult, PatchRow
from models.voxcpm.programs.step_programs import Program, StepPrograms
from models.voxcpm.requests.generation import GenerationState
from models.voxcpm.vae.waveform_streams import WaveformStreams, decoder_of

if TYPE_CHECKING:
    from models.lora.bank import AdapterBank

MakeNoise = Callable[[GenerationState, int], np.ndarray]
MakeResult = Callable[[GenerationState, PatchResult], StepResult]


class ProgramRunner(AheadRunner):
    """See the module.

    Args:
        make_noise: of a request's state and a patch index: float32 [P, D], temperature included.
        make_result: of a request's state and its patch; moves the state on.
        adapters: of requests, on the device; None where none can have any.
    """

    def __init__(
        self,
        programs: StepPrograms,
        streams: WaveformStreams,
        block_size: int,
        make_noise: MakeNoise,
        make_result: MakeResult,
        adapters: AdapterBank | None = None,
    ) -> None:
        super().__init__(block_size)
        self._programs = programs
        self._streams, self._adapters = streams, adapters
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
        for num_steps, together in waiting.items():
            for group in self._groups([batch[i].sequence for i in together]):
                wanted = {batch[together[i]].sequence: together[i] for i in group}
                rows = [Position.of(batch[i]) for i in wanted.values()]
                flight = self._launch_patches_of(rows, num_steps)
                if flight is not None:
                    served.update(wanted.values())
                    of_rows = [wanted[row.sequence] for row in flight.rows]
                    flights.append(Flight(flight.launched, flight.rows, of_rows))
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
        program, slots = self._programs.for_decodes(1, row.start + 1), self._place([row.sequence])
        if program is None or slots is None:
            return False
        program = self._with_adapters(program, slots)
        spare = self._streams.spare_slot
        self._streams.put_last(spare, row.sequence.token_ids[row.start])
        program.fill([LanguageRow(row.start, [b""], row.sequence.block_table, spare, adapter=slots[0])])
        program.launch()
        self._launched(slots)
        return True

    def _launch_patches_of(self, rows: list[Position], num_steps: int) -> Flight | None:
        """The next patch of each sequence, those with adapters spread out; None when there is no program for
        so many, or no slots for all their adapters."""
        longest = max(row.start + 1 for row in rows)
        program, adapters = (
            self._programs.for_decodes(len(rows), longest),
            self._place([row.sequence for row in rows]),
        )
        if program is None or adapters is None:
            return None
        order = spread_out(adapters)
        rows, adapters = [rows[i] for i in order], [adapters[i] for i in order]
        program = self._with_adapters(program, adapters)
        slots = self._streams.slots([row.sequence for row in rows])
        placed = list(zip(rows, slots, adapters, strict=True))
        program.fill(
            [
                LanguageRow(row.start, [b""], row.block_table, slot, adapter=adapter)
                for row, slot, adapter in placed
            ]
        )
        program.launch()
        patches = [
            self._patch_row(row.sequence, slot, row.unread, False, adapter) for row, slot, adapter in placed
        ]
        return Flight(self._launch_patches(patches, False, num_steps), rows)

    def _launch_patches(self, rows: list[PatchRow], begins: bool, num_steps: int) -> Launched:
        """After the language program that computes what they are made from."""
        adapters = [row.adapter for row in rows]
        program = self._with_adapters(self._programs.for_patches(len(rows), begins), adapters)
        program.fill(rows)
        launched = program.launch(num_steps)
        self._launched(adapters)
        return launched

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
        for (has_audio, num_steps), together in waiting.items():
            for group in self._groups([chunk.sequence for chunk in together]):
                chunks = [together[i] for i in group]
                for program, count in self._programs.pack([chunk.count for chunk in chunks], has_audio):
                    taken, chunks = chunks[:count], chunks[count:]
                    flights.append(self._launch_pack(program, taken, num_steps))
        return flights

    def _launch_pack(self, program: LanguageProgram, chunks: list[Chunk], num_steps: int) -> Flight:
        """Chunks in one launch, and the patches of those that end their prompts."""
        adapters = self._place([chunk.sequence for chunk in chunks])
        if adapters is None:
            raise EngineError("more adapters than slots in one launch")
        program = self._with_adapters(program, adapters)
        program.fill(
            [
                LanguageRow(
                    chunk.start,
                    chunk.tokens,
                    chunk.sequence.block_table,
                    samples=chunk.samples,
                    adapter=adapter,
                )
                for chunk, adapter in zip(chunks, adapters, strict=True)
            ]
        )
        program.launch()
        self._launched(adapters)
        ends = [place for place in zip(chunks, adapters, strict=True) if place[0].samples]
        if not ends:
            return Flight(program.mark(), [], [])
        slots, fresh = self._streams.places([chunk.sequence for chunk, _ in ends])
        rows = [
            self._patch_row(chunk.sequence, slot, 0, slot in fresh, adapter)
            for (chunk, adapter), slot in zip(ends, slots, strict=True)
        ]
        positions = [Position.of(chunk) for chunk, _ in ends]
        launched = self._launch_patches(rows, True, num_steps)
        return Flight(launched, positions, [chunk.index for chunk, _ in ends])

    def _patch_row(
        self, sequence: Sequence, slot: int, unread: int, fresh: bool = False, adapter: int = -1
    ) -> PatchRow:
        """unread: how many of its patches are not read yet."""
        state = sequence.payload
        noise = self._make_noise(state, state.index + unread)
        return PatchRow(slot, noise, state.cfg_value, fresh, adapter, decoder_of(sequence))

    def _groups(self, sequences: list[Sequence]) -> list[list[int]]:
        """Indices of sequences in groups whose adapters have room beside each other."""
        if self._adapters is None:
            return [list(range(len(sequences)))]
        return self._adapters.groups([sequence.payload.adapter for sequence in sequences])

    def _place(self, sequences: list[Sequence]) -> list[int] | None:
        """The slots of their adapters, see `AdapterBank.place`."""
        if self._adapters is None:
            return [-1] * len(sequences)
        return self._adapters.place([sequence.payload.adapter for sequence in sequences])

    def _with_adapters(self, program: Program, slots: list[int]) -> Program:
        """The program of the same shape that has what the slots of its rows ask for."""
        if self._adapters is None or max(slots) < 0:
            return program
        return self._programs.adapted(program, self._adapters.generation)

    def _launched(self, slots: list[int]) -> None:
        if self._adapters is not None:
            self._adapters.read(slots)


def _ends_in_patch(sequence: Sequence) -> bool:
    return isinstance(sequence.token_ids[-1], bytes)


def _num_steps(row: ScheduledSequence) -> int:
    """Of the solver."""
    return row.sequence.payload.num_steps


def _is_replay(row: ScheduledSequence) -> bool:
    """Whether it is one patch of a resumed clip, scheduled by itself for the sake of its bits."""
    is_patch = isinstance(row.sequence.token_ids[row.start], bytes)
    return row.count == 1 and row.start >= row.sequence.resumed_from and is_patch
