"""The step programs of one engine: which there are, and which one serves a row of a batch.

Decodes of all sequences go through one program of the next batch size, the last chunk of a prompt through one
of the next length. Rows that none fits (another number of solver steps, a longer prompt) are left to the
runner's own path, which knows no fixed shapes.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.attention import StepShape
from engine.cuda_graphs import GraphRecorder, batch_sizes
from models.voxcpm.step_program import ProgramShape, StepProgram

Report = Callable[[float], None]
"""Is told what part of the programs is recorded, 0 to 1."""

SHORT_CONTEXT = 1024
"""Positions; attention over a shorter room is split less, so short contexts have programs of their own."""
TEXT_CHUNKS = (32, 64, 128, 256)
AUDIO_CHUNKS = (64, 128, 256)


@dataclass(frozen=True)
class ProgramPlan:
    """Which programs there are."""

    num_steps: int
    max_rows: int
    max_context: int
    text_chunks: tuple[int, ...] = TEXT_CHUNKS
    audio_chunks: tuple[int, ...] = AUDIO_CHUNKS
    decode_rows: list[int] = field(default_factory=list)
    """Empty: `engine.cuda_graphs.batch_sizes`."""

    @property
    def contexts(self) -> list[int]:
        """Lengths of the longest context that programs have room for, rising."""
        return [limit for limit in (SHORT_CONTEXT,) if limit < self.max_context] + [self.max_context]

    def shapes(self) -> list[ProgramShape]:
        """All of them, the largest first."""
        rows = self.decode_rows or batch_sizes(self.max_rows)
        shapes = [
            ProgramShape(StepShape(count, max_context=context), self.num_steps)
            for context in self.contexts
            for count in rows
        ]
        for lengths, has_audio in ((self.text_chunks, False), (self.audio_chunks, True)):
            for length in lengths:
                attention = StepShape(0, 1, length, self.max_context)
                shapes.append(ProgramShape(attention, self.num_steps, has_audio))
        return sorted(shapes, key=lambda shape: -shape.attention.num_tokens)


class StepPrograms:
    """Builds and records what `plan` says."""

    def __init__(
        self,
        plan: ProgramPlan,
        build: Callable[[ProgramShape], StepProgram],
        recorder: GraphRecorder,
        report: Report = lambda share: None,
    ) -> None:
        self.num_steps = plan.num_steps
        self._decodes: dict[int, list[tuple[int, StepProgram]]] = {}
        self._chunks: dict[bool, list[tuple[int, StepProgram]]] = {False: [], True: []}
        shapes = plan.shapes()
        for done, shape in enumerate(shapes, start=1):
            program = build(shape)
            program.use(recorder.record(program.compute))
            self._keep(program)
            report(done / len(shapes))

    def _keep(self, program: StepProgram) -> None:
        attention = program.shape.attention
        if attention.num_decodes:
            rows = self._decodes.setdefault(attention.max_context, [])
            bisect.insort(rows, (attention.num_decodes, program), key=lambda entry: entry[0])
        else:
            rows = self._chunks[program.shape.chunk_audio]
            bisect.insort(rows, (attention.num_chunk_tokens, program), key=lambda entry: entry[0])

    def for_decodes(self, count: int, longest_context: int) -> StepProgram | None:
        """The smallest program with room for so many decodes."""
        for context in sorted(self._decodes):
            if longest_context <= context and (program := _smallest(self._decodes[context], count)):
                return program
        return None

    def for_chunk(self, keys: list[int | bytes], context: int) -> StepProgram | None:
        """The smallest program with room for these positions of a prompt."""
        has_audio = any(isinstance(key, bytes) for key in keys)
        program = _smallest(self._chunks[has_audio], len(keys))
        return program if program and context <= program.shape.attention.max_context else None


def _smallest(programs: list[tuple[int, StepProgram]], size: int) -> StepProgram | None:
    place = bisect.bisect_left(programs, size, key=lambda entry: entry[0])
    return programs[place][1] if place < len(programs) else None
