"""The step programs of one engine: which there are, and which one serves a row of a batch.

Decodes of all sequences go through one program of the next batch size. Chunks of prompts share programs with
room for several, one after the other as far as they fit: 20 prompts of 40 tokens that come together are one
launch. Another number of solver steps than that of the programs is computed at the same addresses, but
unrecorded.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.attention import StepShape
from engine.cuda_graphs import GraphRecorder, batch_sizes
from models.voxcpm.programs.step_program import ProgramShape, StepProgram

Report = Callable[[float], None]
"""Is told what part of the programs is recorded, 0 to 1."""

SHORT_CONTEXT = 1024
"""Positions; attention over a shorter room is split less, so short contexts have programs of their own."""
SHORT_CONTEXT_ROWS = 8
"""Decodes up to which they have; more fill a device without as many splits as that."""
TEXT_CHUNKS = (
    (1, 32), (1, 64), (1, 128), (1, 256), (4, 128), (16, 512), (16, 2048), (64, 1024), (64, 2048), (64, 4096)
)  # fmt: skip
AUDIO_CHUNKS = ((1, 64), (1, 128), (1, 256), (4, 512), (16, 1024))
"""Chunks and positions in all."""


@dataclass(frozen=True)
class ProgramPlan:
    """Which programs there are."""

    num_steps: int
    max_rows: int
    max_context: int
    text_chunks: tuple[tuple[int, int], ...] = TEXT_CHUNKS
    audio_chunks: tuple[tuple[int, int], ...] = AUDIO_CHUNKS
    """More chunks than `max_rows` are so many."""
    decode_rows: list[int] = field(default_factory=list)
    """Empty: `engine.cuda_graphs.batch_sizes`."""

    @property
    def contexts(self) -> list[int]:
        """Lengths of the longest context that programs have room for, rising."""
        return [limit for limit in (SHORT_CONTEXT,) if limit < self.max_context] + [self.max_context]

    def shapes(self) -> list[ProgramShape]:
        """All of them, the largest first."""
        shapes = [
            ProgramShape(StepShape(count, max_context=context), self.num_steps)
            for context in self.contexts
            for count in self.decode_rows or batch_sizes(self.max_rows)
            if context == self.max_context or count <= SHORT_CONTEXT_ROWS
        ]
        for rooms, has_audio in ((self.text_chunks, False), (self.audio_chunks, True)):
            for chunks, tokens in sorted({(min(chunks, self.max_rows), tokens) for chunks, tokens in rooms}):
                attention = StepShape(0, chunks, tokens, self.max_context)
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
        self._chunks: dict[bool, list[StepProgram]] = {False: [], True: []}
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
            bisect.insort(self._chunks[program.shape.chunk_audio], program, key=_room)

    def for_decodes(self, count: int, longest_context: int) -> StepProgram | None:
        """The smallest program with room for so many decodes."""
        for context in sorted(self._decodes):
            if longest_context <= context and (program := _smallest(self._decodes[context], count)):
                return program
        return None

    def for_chunks(self, count: int, tokens: int, has_audio: bool) -> StepProgram | None:
        """The smallest program with room for so many chunks of prompts, `tokens` positions in all."""
        for program in self._chunks[has_audio]:
            chunks, positions = _room(program)
            if count <= chunks and tokens <= positions:
                return program
        return None

    def pack(self, lengths: list[int], has_audio: bool) -> list[tuple[StepProgram, int]]:
        """Programs for chunks of these lengths in turn, and how many each takes: as many as fit.

        No length may be above `longest_chunk`.
        """
        packed: list[tuple[StepProgram, int]] = []
        count = tokens = 0
        for length in lengths:
            larger = self.for_chunks(count + 1, tokens + length, has_audio)
            if larger is None:
                count = tokens = 0
                larger = self.for_chunks(1, length, has_audio)
            elif count:
                packed.pop()
            count, tokens = count + 1, tokens + length
            packed.append((larger, count))
        return packed

    def longest_chunk(self, has_audio: bool) -> int:
        """Positions of the longest chunk that a program takes."""
        return max(
            (program.shape.attention.num_chunk_tokens for program in self._chunks[has_audio]), default=0
        )


def _room(program: StepProgram) -> tuple[int, int]:
    """Chunks and their positions in all."""
    return program.shape.attention.num_chunks, program.shape.attention.num_chunk_tokens


def _smallest(programs: list[tuple[int, StepProgram]], size: int) -> StepProgram | None:
    place = bisect.bisect_left(programs, size, key=lambda entry: entry[0])
    return programs[place][1] if place < len(programs) else None
