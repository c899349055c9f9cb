"""The programs of one engine: which there are, and which one serves a row of a batch.

Decodes of all sequences go through one language program of the next batch size. Chunks of prompts share
programs with room for several, one after the other as far as they fit: 20 prompts of 40 tokens that come
together are one launch. Patches follow for as many rows as need them: a prompt of 2,000 positions fills a
language program with room for 16 chunks, and then a patch program of one row. Another number of solver steps
than that of the programs is computed at the same addresses, but unrecorded.

A step in which somebody has an adapter goes through programs of the same shapes that have adapters
(`record_adapted`, at the start). Other slots than those they were recorded for have programs of their own,
which are recorded when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from engine.attention import StepShape
from engine.device.cuda_graphs import GraphRecorder, batch_sizes
from engine.errors import EngineError
from engine.programs.catalogue import Decodes, Rooms, Sizes, decode_shapes
from models.voxcpm.programs.language_program import LanguageProgram, LanguageShape
from models.voxcpm.programs.patch_program import PatchProgram
from models.voxcpm.programs.program import Along, StepProgram
from models.voxcpm.programs.waveform_programs import PatchShape

if TYPE_CHECKING:
    from models.lora.bank import Generation

Program = TypeVar("Program", LanguageProgram, PatchProgram)
Lead = Callable[[int], Along]
"""Has the program of this number launched on all ranks."""
Report = Callable[[float], None]
"""Is told what part of the programs is recorded, 0 to 1."""

TEXT_CHUNKS = (
    (1, 32), (1, 64), (1, 128), (1, 256), (4, 128), (16, 512), (16, 2048), (64, 1024), (64, 2048), (64, 4096)
)  # fmt: skip
AUDIO_CHUNKS = ((1, 64), (1, 128), (1, 256), (4, 512), (16, 1024))
"""Chunks and positions in all."""


@dataclass(frozen=True)
class ProgramPlan:
    """Which programs there are."""

    num_steps: int
    """Of the flow solver, where nobody asks for another number."""
    max_rows: int
    max_context: int
    text_chunks: tuple[tuple[int, int], ...] = TEXT_CHUNKS
    audio_chunks: tuple[tuple[int, int], ...] = AUDIO_CHUNKS
    """More chunks than `max_rows` are so many."""
    decode_rows: list[int] = field(default_factory=list)
    """Empty: `engine.device.cuda_graphs.batch_sizes`."""

    @classmethod
    def told(cls, fields: Mapping[str, Any]) -> ProgramPlan:
        """What `dataclasses.asdict` made of one, by way of JSON."""
        rooms = {name: tuple(map(tuple, fields[name])) for name in ("text_chunks", "audio_chunks")}
        return cls(**{**fields, **rooms})

    def language_shapes(self) -> list[LanguageShape]:
        """The shapes of steps for which the language models are recorded, the largest first."""
        shapes = [LanguageShape(shape) for shape in decode_shapes(self._decode_sizes, self.max_context)]
        for rooms, has_audio in ((self.text_chunks, False), (self.audio_chunks, True)):
            for chunks, tokens in sorted({(min(chunks, self.max_rows), tokens) for chunks, tokens in rooms}):
                shapes.append(LanguageShape(StepShape(0, chunks, tokens, self.max_context), has_audio))
        return sorted(shapes, key=lambda shape: -shape.attention.num_tokens)

    def patch_shapes(self) -> list[PatchShape]:
        """The shapes for which flow matching is recorded, the largest first.

        Those of decodes, and those of chunks, whose patches may begin streams.
        """
        begins = {min(chunks, self.max_rows) for chunks, _ in (*self.text_chunks, *self.audio_chunks)}
        shapes = [PatchShape(rows, False) for rows in self._decode_sizes]
        return sorted(shapes + [PatchShape(rows, True) for rows in begins], reverse=True)

    @property
    def _decode_sizes(self) -> list[int]:
        return self.decode_rows or batch_sizes(self.max_rows)


class StepPrograms:
    """Builds and records what `plan` says. lead: of rank 0 of several.

    Attributes:
        all: programs by their numbers, the same on every rank; those with adapters are not among them.
    """

    def __init__(
        self,
        plan: ProgramPlan,
        build_language: Callable[[LanguageShape, Generation | None], LanguageProgram],
        build_patch: Callable[[PatchShape, Generation | None], PatchProgram],
        recorder: GraphRecorder,
        report: Report = lambda share: None,
        lead: Lead | None = None,
    ) -> None:
        self.num_steps = plan.num_steps
        self.all: list[StepProgram] = []
        self._build_language, self._build_patch, self._recorder = build_language, build_patch, recorder
        self._adapted: dict[LanguageProgram | PatchProgram, LanguageProgram | PatchProgram] = {}
        """Programs with adapters, by those of the same shape without."""
        self._adapters: Generation | None = None
        """The slots that they read."""
        self._decodes: Decodes[LanguageProgram] = Decodes()
        self._chunks: dict[bool, Rooms[LanguageProgram]] = {False: Rooms(), True: Rooms()}
        self._patches: dict[bool, Sizes[PatchProgram]] = {False: Sizes(), True: Sizes()}
        languages, patches = plan.language_shapes(), plan.patch_shapes()
        count = len(languages) + len(patches)
        for shape in languages:
            self._keep(self._numbered(_recorded(build_language(shape, None), recorder), lead))
            report(len(self.all) / count)
        for shape in patches:
            program = self._numbered(_recorded(build_patch(shape, None), recorder), lead)
            self._patches[shape.begins].add(shape.rows, program)
            report(len(self.all) / count)

    def _numbered(self, program: Program, lead: Lead | None) -> Program:
        if lead is not None:
            program.lead(lead(len(self.all)))
        self.all.append(program)
        return program

    def _keep(self, program: LanguageProgram) -> None:
        attention = program.shape.attention
        if attention.num_decodes:
            self._decodes.add(attention.num_decodes, attention.max_context, program)
        else:
            room = attention.num_chunks, attention.num_chunk_tokens
            self._chunks[program.shape.chunk_audio].add(room, program)

    def for_decodes(self, count: int, longest_context: int) -> LanguageProgram | None:
        """The smallest program with room for so many decodes."""
        return self._decodes.smallest(count, longest_context)

    def for_patches(self, count: int, begins: bool) -> PatchProgram:
        """The smallest program with room for the patches of so many decodes, or (`begins`) chunks.

        There is one for whatever `for_decodes` and `pack` return a program for.
        Raises EngineError for more.
        """
        program = self._patches[begins].smallest(count)
        if program is None:
            raise EngineError(f"no program makes {count} patches at once")
        return program

    def adapted(self, program: Program, adapters: Generation) -> Program:
        """The program of the same shape whose rows may have adapters in these slots; recorded if new."""
        if adapters is not self._adapters:
            self._adapted.clear()
            self._adapters = adapters
        if program not in self._adapted:
            build = self._build_language if isinstance(program, LanguageProgram) else self._build_patch
            self._adapted[program] = _recorded(build(program.shape, adapters), self._recorder)
        return self._adapted[program]

    def record_adapted(self, adapters: Generation, report: Report = lambda share: None) -> None:
        """All that `adapted` can be asked for, the largest first."""
        chunks = [program for rooms in self._chunks.values() for program in rooms]
        languages = sorted([*chunks, *self._decodes], key=lambda program: -program.shape.attention.num_tokens)
        patches = [program for sizes in self._patches.values() for program in sizes]
        ordered = [*languages, *sorted(patches, key=lambda program: -program.shape.rows)]
        for done, program in enumerate(ordered, start=1):
            self.adapted(program, adapters)
            report(done / len(ordered))

    def pack(self, lengths: list[int], has_audio: bool) -> list[tuple[LanguageProgram, int]]:
        """See `Rooms.pack`."""
        return self._chunks[has_audio].pack(lengths)

    def longest_chunk(self, has_audio: bool) -> int:
        """Positions of the longest chunk that a program takes."""
        return self._chunks[has_audio].longest_chunk


def _recorded(program: Program, recorder: GraphRecorder) -> Program:
    program.use(recorder.record(program.compute, program.rehearse))
    return program
