"""The programs of one engine: which there are, and which one serves a row of a batch.

Decodes of all sequences go through one language program of the next batch size. Chunks of prompts share
programs with room for several, as far as they fit; more positions than the largest has room for are computed
unrecorded, where launching costs less than computing. Tokens follow for as many rows as need them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from engine.attention import AttentionBackend, StepShape
from engine.device.cuda_graphs import Compute, GraphRecorder, batch_sizes
from engine.kv_cache.pool import KVPool
from engine.parallel.group import Group
from engine.programs.catalogue import Decodes, Rooms, Sizes, decode_shapes
from models.llm.families import TextModel
from models.llm.programs.language_program import LanguageProgram
from models.llm.programs.sampling_program import Kind, SamplingProgram, readback
from models.llm.programs.tables import Tables

Program = LanguageProgram | SamplingProgram
Lead = Callable[[int, Program, Compute], Compute]
"""Number, program and what launches it -> what launches it on all ranks."""
Report = Callable[[float], None]
"""Is told what part of the programs is recorded, 0 to 1."""

CHUNKS = ((1, 32), (1, 64), (1, 128), (1, 256), (4, 512), (16, 1024), (16, 2048))
"""Chunks and positions in all."""


@dataclass(frozen=True)
class TextPlan:
    """Which programs there are."""

    max_rows: int
    max_context: int
    chunks: tuple[tuple[int, int], ...] = CHUNKS
    """More chunks than `max_rows` are so many, more positions than `max_context` in each have no program."""

    @property
    def sizes(self) -> list[int]:
        return batch_sizes(self.max_rows)

    def language_shapes(self) -> list[StepShape]:
        """All of them, the largest first."""
        shapes = decode_shapes(self.sizes, self.max_context)
        rooms = {(min(chunks, self.max_rows), tokens) for chunks, tokens in self.chunks}
        shapes += [StepShape(0, chunks, tokens, self.max_context) for chunks, tokens in sorted(rooms)]
        return sorted(shapes, key=lambda shape: -shape.num_tokens)


class StepPrograms:
    """Builds and records what `plan` says. group: of several ranks. lead: has them launch along, on rank 0.

    Attributes:
        all: programs by their numbers, the same on every rank.
        hidden: [rows, H], on their way from language programs to sampling programs: those of the step under
            way.
    """

    def __init__(
        self,
        plan: TextPlan,
        model: TextModel,
        tables: Tables,
        backend: AttentionBackend,
        pool: KVPool,
        dtype: torch.dtype,
        recorder: GraphRecorder,
        report: Report = lambda share: None,
        group: Group | None = None,
        lead: Lead | None = None,
    ) -> None:
        device, config = tables.tokens.device, model.config
        self.all: list[Program] = []
        self.hidden = torch.zeros(plan.max_rows, config.hidden_size, dtype=dtype, device=device)
        self._decodes: Decodes[LanguageProgram] = Decodes()
        self.chunks: Rooms[LanguageProgram] = Rooms()
        self._samplers: dict[Kind, Sizes[SamplingProgram]] = {kind: Sizes() for kind in Kind}
        shapes = plan.language_shapes()
        count, done = len(shapes) + len(Kind) * len(plan.sizes), 0
        for shape in shapes:
            language = LanguageProgram(shape, model, tables, backend, pool, self.hidden, group)
            self._add(language, recorder.record(language.compute, language.rehearse), lead)
            if shape.num_chunks:
                self.chunks.add((shape.num_chunks, shape.num_chunk_tokens), language)
            else:
                self._decodes.add(shape.num_decodes, shape.max_context, language)
            report((done := done + 1) / count)
        for kind in reversed(Kind):
            outputs = readback(plan.max_rows, kind, config.vocab_size, device)
            for rows in reversed(plan.sizes):
                sampler = SamplingProgram(rows, kind, model, tables, self.hidden, outputs, group)
                self._add(sampler, recorder.record(sampler.compute), lead)
                self._samplers[kind].add(rows, sampler)
                report((done := done + 1) / count)

    def _add(self, program: Program, launch: Compute, lead: Lead | None) -> None:
        program.use(launch if lead is None else lead(len(self.all), program, launch))
        self.all.append(program)

    def for_decodes(self, count: int, longest_context: int) -> LanguageProgram | None:
        """The smallest program with room for so many decodes."""
        return self._decodes.smallest(count, longest_context)

    def for_tokens(self, count: int, kind: Kind) -> SamplingProgram:
        """The smallest program that draws so many tokens. Raises ValueError where none does."""
        program = self._samplers[kind].smallest(count)
        if program is None:
            raise ValueError(f"no program draws {count} tokens at once")
        return program
