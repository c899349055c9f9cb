"""The first part of a step at fixed addresses: tokens in, hidden states out.

A program is for sequences that go on from their last token (decodes), whose tokens stand in `Tables.tokens`,
or for chunks of prompts. It leaves the hidden states of what gets a token in `hidden`, from where a
`sampling_program` takes them; for a chunk that is not the end of its prompt nothing follows.
"""

from __future__ import annotations

from collections.abc import Sequence as Rows

import numpy as np
import torch
from torch import Tensor

from engine.attention import AttentionBackend, AttentionBatch, PagedAttention, StepShape
from engine.device.cuda_graphs import Compute
from engine.kv_cache.pool import KVPool
from engine.parallel.group import Group
from engine.programs.ahead import Chunk
from engine.programs.inputs import Fields, Inputs
from models.llm.families import TextModel
from models.llm.programs.tables import Tables
from models.transformer.rehearsal import few_layers


class LanguageProgram:
    """See the module. Programs that share `hidden` must not run at the same time."""

    def __init__(
        self,
        shape: StepShape,
        model: TextModel,
        tables: Tables,
        backend: AttentionBackend,
        pool: KVPool,
        hidden: Tensor,
        group: Group | None = None,
    ) -> None:
        self.shape, self._group = shape, group
        self._model, self._tables, self._backend, self._hidden = model, tables, backend, hidden
        self._metadata = backend.buffers(shape)
        self._attention = PagedAttention(backend, pool, self._metadata)
        self._inputs = Inputs(_fields(shape), hidden.device)
        self._launch: Compute = self.compute
        if shape.num_chunks:
            self.fill_chunks([])
        else:
            self.fill_decodes([], [], [])

    def use(self, launch: Compute) -> None:
        """Let `launch`, a recording of `compute`, run in its place."""
        self._launch = launch

    def sent(self) -> tuple[np.ndarray, np.ndarray]:
        """What was filled in last, as bytes."""
        return self._metadata.staging.last, self._inputs.staging.last

    def replay(self, metadata: bytes, inputs: bytes) -> None:
        """Compute what was `sent` on rank 0."""
        self._metadata.staging.receive(metadata)
        self._inputs.staging.receive(inputs)
        self.launch()

    def fill_decodes(self, starts: list[int], block_tables: list[list[int]], slots: list[int]) -> None:
        """Lay sequences that go on into the inputs. Raises EngineError when they do not fit."""
        count = len(starts)
        self._backend.plan(AttentionBatch(starts, [1] * count, block_tables), out=self._metadata)
        host = self._inputs.take()
        host["positions"][:count], host["slots"][:count] = starts, slots
        host["slots"][count:] = self._tables.spare_slot
        self._inputs.send()

    def fill_chunks(self, chunks: Rows[Chunk]) -> None:
        """Lay chunks of prompts into the inputs. Raises EngineError when they do not fit."""
        starts, counts = [chunk.start for chunk in chunks], [chunk.count for chunk in chunks]
        tables = [chunk.sequence.block_table for chunk in chunks]
        self._backend.plan(AttentionBatch(starts, counts, tables), out=self._metadata)
        host, begin, ends = self._inputs.take(), 0, []
        for chunk in chunks:
            end = begin + chunk.count
            host["positions"][begin:end] = np.arange(chunk.start, chunk.start + chunk.count)
            host["token_ids"][begin:end] = chunk.tokens
            if chunk.samples:
                ends.append(end - 1)
            begin = end
        host["ends"][: len(ends)] = ends
        host["ends"][len(ends) :] = 0
        self._inputs.send()

    @torch.inference_mode()
    def launch(self) -> None:
        """Compute what was filled in; returns before the device is done."""
        self._launch()

    @torch.inference_mode()
    def compute(self) -> None:
        """The computation itself: tensors in, tensors out, no word with the host."""
        inputs, chunks = self._inputs, self.shape.num_chunks
        tokens = inputs["token_ids"] if chunks else self._last_tokens()
        ends = inputs["ends"] if chunks else None
        hidden = self._model(tokens, inputs["positions"], self._attention, ends)
        self._hidden[: len(hidden)] = hidden

    @torch.inference_mode()
    def rehearse(self) -> None:
        """Launch every kernel that `compute` does at least once, by few layers."""
        with few_layers():
            self.compute()

    def _last_tokens(self) -> Tensor:
        """The last tokens of the sequences that go on; rank 0 alone knows them."""
        tokens = self._tables.tokens[self._inputs["slots"]]
        if self._group is None:
            return tokens
        return self._group.all_reduce(tokens if self._group.rank == 0 else torch.zeros_like(tokens))


def _fields(shape: StepShape) -> Fields:
    fields: Fields = {"positions": (torch.int64, (shape.num_tokens,))}
    if not shape.num_chunks:
        return fields | {"slots": (torch.int64, (shape.num_decodes,))}
    tokens = (torch.int64, (shape.num_chunk_tokens,))
    return fields | {"ends": (torch.int64, (shape.num_chunks,)), "token_ids": tokens}
