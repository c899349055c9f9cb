"""Serves batches through step programs, one step ahead of the engine.

While the device computes step n, the host has nothing to read yet; it launches step n + 1 first, for every
sequence that will go on unless the model says stop in step n. When the engine then asks for step n + 1, its
results are there or on their way:

    run(n):      launch n + 1 | read n         run(n + 1):  launch n + 2 | read n + 1

At most one patch of a sequence is computed in vain. A sequence that the engine leaves out of step n + 1
(paused, preempted, not its turn) has been advanced too far on the device; it loses its place there and is
rebuilt from its patches when it comes back, as any sequence without a place is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass

import numpy as np

from engine.model_runner import StepResult
from engine.scheduler import ScheduledSequence
from engine.sequence import Sequence, SequenceStatus
from models.voxcpm.generation import GenerationState
from models.voxcpm.step_program import Launched, ProgramRow
from models.voxcpm.step_programs import StepPrograms
from models.voxcpm.waveform_streams import WaveformStreams

Results = list[StepResult | None]
RunFreely = Callable[[list[ScheduledSequence]], Results]
MakeNoise = Callable[[GenerationState, int], np.ndarray]
MakeResult = Callable[[GenerationState, bool, np.ndarray, np.ndarray], StepResult]


@dataclass(frozen=True)
class Flight:
    """A step under way: which position of which sequence is computed in each row."""

    launched: Launched
    rows: list[tuple[Sequence, int]]


class ProgramRunner:
    """See the module.

    Args:
        make_noise: of a request's state and a patch index: float32 [P, D], temperature included.
        make_result: of a request's state, the stop decision, latents and audio; moves the state on.
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

    def run(self, batch: Rows[ScheduledSequence], run_freely: RunFreely) -> Results:
        """One step; rows that no program fits go through `run_freely`."""
        results: Results = [None] * len(batch)
        ahead, self._ahead = self._ahead, None
        place = {(row.sequence, row.start): i for i, row in enumerate(batch) if row.count == 1}
        found = [place.get(key) for key in ahead.rows] if ahead else []
        if ahead is not None:
            self._forget(sequence for (sequence, _), i in zip(ahead.rows, found, strict=True) if i is None)
        served = {i for i in found if i is not None}
        late = self._launch_decodes(batch, served)
        self._run_chunks(batch, served, results)
        rest = [i for i in range(len(batch)) if i not in served]
        if rest:
            for i, result in zip(rest, run_freely([batch[i] for i in rest]), strict=True):
                results[i] = result
        self._ahead = self._launch_ahead(batch, results)
        for flight, rows in ((ahead, found), late):
            if flight is not None:
                self._read(flight.launched, batch, rows, results)
        return results

    def _forget(self, sequences: Rows[Sequence]) -> None:
        for sequence in sequences:
            if sequence.status is not SequenceStatus.FINISHED:
                self._streams.release(sequence)

    def _launch_decodes(
        self, batch: Rows[ScheduledSequence], served: set[int]
    ) -> tuple[Flight | None, list[int]]:
        """Everything that goes on from a patch and is not under way, all at once."""
        rows = [
            i
            for i, row in enumerate(batch)
            if i not in served and row.count == 1 and self._fits(row) and _ends_in_patch(row.sequence)
        ]
        flight = self._launch([(batch[i].sequence, batch[i].start, 0) for i in rows])
        if flight is None:
            return None, []
        served.update(rows)
        return flight, rows

    def _launch(self, rows: list[tuple[Sequence, int, int]]) -> Flight | None:
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
                self._row(sequence, start, [b""], slot, unread)
                for (sequence, start, unread), slot in zip(rows, slots, strict=True)
            ]
        )
        return Flight(program.launch(), [(sequence, start) for sequence, start, _ in rows])

    def _run_chunks(self, batch: Rows[ScheduledSequence], served: set[int], results: Results) -> None:
        """Ends of prompts, one by one."""
        for i, row in enumerate(batch):
            if i in served or not self._fits(row):
                continue
            keys = row.sequence.token_ids[row.start : row.start + row.count]
            program = self._programs.for_chunk(keys, row.start + row.count)
            if program is not None:
                (slot,) = self._streams.slots([row.sequence])
                program.fill([], self._row(row.sequence, row.start, keys, slot, 0))
                self._read(program.launch(), batch, [i], results)
                served.add(i)

    def _launch_ahead(self, batch: Rows[ScheduledSequence], results: Results) -> Flight | None:
        """The next step of whatever is sure to be in it unless the model ends it."""
        rows = []
        for row, result in zip(batch, results, strict=True):
            sequence, state = row.sequence, row.sequence.payload
            next_start = row.start + row.count
            unread = int(result is None)
            goes_on = (
                self._fits(row)
                and not (result is not None and result.stopped)
                and state.index + unread < state.max_patches
                and sequence.num_new_tokens + 1 < sequence.max_new_tokens
                and next_start < len(sequence.block_table) * self._block_size
            )
            if goes_on:
                rows.append((sequence, next_start, unread))
        return self._launch(rows)

    def _fits(self, row: ScheduledSequence) -> bool:
        return row.samples and row.sequence.payload.num_steps == self._programs.num_steps

    def _row(
        self, sequence: Sequence, start: int, keys: list[int | bytes], slot: int, unread: int
    ) -> ProgramRow:
        state = sequence.payload
        noise = self._make_noise(state, state.index + unread)
        return ProgramRow(start, keys, sequence.block_table, slot, noise, state.cfg_value)

    def _read(
        self, launched: Launched, batch: Rows[ScheduledSequence], rows: Rows[int | None], results: Results
    ) -> None:
        for i, one in zip(rows, launched.results(), strict=True):
            if i is not None:
                state = batch[i].sequence.payload
                results[i] = self._make_result(state, one.stop, one.latents, one.audio)


def _ends_in_patch(sequence: Sequence) -> bool:
    return isinstance(sequence.token_ids[-1], bytes)
