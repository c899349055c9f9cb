"""Serves batches of a text model through its step programs, one step ahead (`engine.programs.ahead`).

Answers whose rules do not fit into a slot of the device are left to the free path; all others go on without
waiting for the host.

Decodes are laid out by falling length. A device begins their attention in that order, so the longest contexts
are not what it still reads when it has run out of others.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows

from torch import Tensor

from engine.device.staging import Mark
from engine.model_runner import StepResult
from engine.programs.ahead import AheadRunner, Chunk, Flight, Position, chunks_of
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.llm.programs.sampling_program import Drawn, Kind, Told
from models.llm.programs.step_programs import StepPrograms
from models.llm.programs.tables import Tables, fits
from models.llm.sampler import Sampled

ComputeHidden = Callable[[Rows[ScheduledSequence]], Tensor]
MakeResult = Callable[[Sequence, Sampled], StepResult]


def _longest_first(row: Position | ScheduledSequence) -> int:
    return -row.start


class ProgramRunner(AheadRunner):
    """See the module.

    Args:
        compute_hidden: unrecorded: hidden states [N, H] of the ends of those rows that sample.
        make_result: of a sequence and its token; moves its state on.
    """

    def __init__(
        self,
        programs: StepPrograms,
        tables: Tables,
        block_size: int,
        compute_hidden: ComputeHidden,
        make_result: MakeResult,
    ) -> None:
        super().__init__(block_size)
        self._programs, self._tables = programs, tables
        self._compute_hidden, self._make_result = compute_hidden, make_result

    def release(self, sequence: Sequence) -> None:
        """Nothing more will be asked for this sequence."""
        super().release(sequence)
        self._tables.release(sequence)

    def _launch_rows(self, batch: Rows[ScheduledSequence], served: set[int]) -> list[Flight]:
        waiting = [i for i in range(len(batch)) if i not in served and self._fits(batch[i].sequence)]
        decodes = [i for i in waiting if batch[i].count == 1 and batch[i].samples]
        decodes.sort(key=lambda i: _longest_first(batch[i]))
        flights = []
        if decodes:
            flight = self._launch([Position.of(batch[i]) for i in decodes])
            if flight is not None:
                served.update(decodes)
                flights.append(Flight(flight.launched, flight.rows, decodes))
        prompts = [i for i in waiting if i not in served]
        if not prompts:
            return flights
        served.update(prompts)
        if sum(batch[i].count for i in prompts) > self._programs.chunks.longest_chunk:
            return [*flights, self._launch_freely(batch, prompts)]
        return flights + self._launch_chunks(batch, prompts)

    def _launch(self, rows: list[Position]) -> Flight | None:
        rows = sorted(rows, key=_longest_first)
        sequences, starts, tables, unread = (list(column) for column in zip(*rows, strict=True))
        program = self._programs.for_decodes(len(rows), max(starts) + 1)
        if program is None:
            return None
        slots = self._tables.slots(sequences)
        program.fill_decodes(starts, tables, slots)
        program.launch()
        return Flight(self._draw(sequences, slots, unread), rows)

    def _launch_chunks(self, batch: Rows[ScheduledSequence], prompts: list[int]) -> list[Flight]:
        """Chunks of prompts, in as few launches as hold them."""
        rooms = self._programs.chunks
        chunks = [chunk for i in prompts for chunk in chunks_of(i, batch[i], rooms.longest_chunk)]
        flights = []
        for program, count in rooms.pack([chunk.count for chunk in chunks]):
            taken, chunks = chunks[:count], chunks[count:]
            program.fill_chunks(taken)
            program.launch()
            flights.append(self._draw_ends([chunk for chunk in taken if chunk.samples]))
        return flights

    def _launch_freely(self, batch: Rows[ScheduledSequence], prompts: list[int]) -> Flight:
        """Many positions: launching them costs less than computing them."""
        ends = self._compute_hidden([batch[i] for i in prompts])
        self._programs.hidden[: len(ends)] = ends
        sampling = [i for i in prompts if batch[i].samples]
        return self._draw_ends(
            [Chunk(i, batch[i].sequence, batch[i].start, batch[i].count, True) for i in sampling]
        )

    def _draw_ends(self, ends: list[Chunk]) -> Flight:
        """Tokens that follow prompts, whose hidden states are there."""
        if not ends:
            return Flight(Mark(self._programs.hidden.device), [], [])
        sequences = [chunk.sequence for chunk in ends]
        drawn = self._draw(sequences, self._tables.slots(sequences), [0] * len(ends))
        positions = [Position.of(chunk) for chunk in ends]
        return Flight(drawn, positions, [chunk.index for chunk in ends])

    def _draw(self, sequences: list[Sequence], slots: list[int], unread: list[int]) -> Drawn:
        answers = [sequence.payload.answer for sequence in sequences]
        program = self._programs.for_tokens(len(slots), max(answer.kind for answer in answers))
        indices = [answer.index + more for answer, more in zip(answers, unread, strict=True)]
        program.fill(slots, indices, answers)
        return program.launch()

    def _goes_on(self, sequence: Sequence, unread: int) -> bool:
        return sequence in self._tables  # whose rules have no room there, have no place either

    def _fits(self, sequence: Sequence) -> bool:
        answer = sequence.payload.answer
        if answer.kind is None:
            served = fits(answer.params, answer.logits.end_ids)
            answer.kind = Kind.of(answer.params) if served else _HOST
        return answer.kind is not _HOST

    def _lose_place(self, sequence: Sequence) -> None:
        self._tables.release(sequence)

    def _result(self, sequence: Sequence, found: int | Told) -> StepResult:
        if isinstance(found, Told):
            return self._make_result(sequence, found.sampled(sequence.payload.answer.params.logprobs))
        return self._make_result(sequence, Sampled(found))


_HOST = -1
"""Kind of an answer that the host draws."""
