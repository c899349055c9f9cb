"""Metadata of one step for the kernels that address pages themselves, at addresses that never change.

A CUDA graph remembers addresses and grid sizes, not contents. So a step is laid into a `StepShape`, which may
be larger than the batch, and all of its metadata is one int32 tensor that is refilled with one copy:

    shape = StepShape(num_decodes=8, num_chunks=1, num_chunk_tokens=64, max_context=4096)
    metadata = PagedMetadata(shape, block_size=16, device=device)
    metadata.fill(batch)     # 5 decodes and a chunk of 20 tokens, say: captured kernels now see these

Rows of queries that the batch does not fill are padding: 3 decodes and 44 chunk tokens here. They have slot
-1 (nothing is stored) and belong to rows of context 0 (their output is zero); for chunk tokens that is an
extra row behind the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch, StepShape
from engine.attention.sdpa import slots_of
from engine.device.staging import Staging
from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.attention.whole_contexts import WholeContexts

Array = TypeVar("Array", Tensor, np.ndarray)
Written = list[tuple[list[int] | None, int]]
ALIGNMENT = 16  # int32 values; kernels are specialised for addresses that are multiples of 64 bytes


@dataclass
class PagedRows(Generic[Array]):
    """Rows of one kind, all int32; R rows.

    Attributes:
        context_lens: [R], 0 for padding.
        block_tables: [R, blocks]; entries past the context hold any block.
        cu_queries: [R + 1], where the queries of each row begin, counted from the first row of this kind.
        cu_filled: [R + 1], the same, but rows that the batch does not fill have no queries.
        cu_contexts: [R + 1], sums of the context lengths.
    """

    context_lens: Array
    block_tables: Array
    cu_queries: Array
    cu_filled: Array
    cu_contexts: Array


@dataclass
class PagedFields(Generic[Array]):
    """Slots of all tokens [T] int32, -1 for padding, then decode rows (one query each) and chunk rows."""

    slots: Array
    decodes: PagedRows[Array]
    chunks: PagedRows[Array]


class PagedMetadata:
    """One step on a device, refilled in place.

    Attributes:
        shape: the room there is; launches depend on it alone.
        whole_contexts: of chunks, in steps that are not recorded, where a backend has put them there.
        slots, decodes, chunks: device tensors, see `PagedFields`. `chunks` has a row more than
            `shape.num_chunks`, to which unused chunk tokens belong.
    """

    def __init__(self, shape: StepShape, block_size: int, device: torch.device, num_staging: int = 2) -> None:
        self.shape, self._block_size = shape, block_size
        self.whole_contexts: WholeContexts | None = None
        sizes = _field_sizes(shape, block_size)
        total = sum(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)
        self._storage = torch.zeros(total, dtype=torch.int32, device=device)
        self.staging = Staging(self._storage, num_staging)
        self._hosts = [_as_arrays(_split(host, shape, block_size)) for host in self.staging.hosts]
        self._written: list[Written] = [[(None, 0)] * shape.num_decodes for _ in self._hosts]
        """For each host copy: which block table stands in each row of decodes, and how much of it. Tables
        grow in place, so most rows of a step need nothing."""
        fields = _split(self._storage, shape, block_size)
        self.slots, self.decodes, self.chunks = fields.slots, fields.decodes, fields.chunks

    def fill(self, batch: AttentionBatch) -> None:
        """Lays `batch` into the shape: its leading rows of one query, as many as fit, become decodes.

        Raises:
            EngineError: the batch does not fit.
        """
        num_decodes = min(batch.num_leading_decodes, self.shape.num_decodes)
        self._check(batch, num_decodes)
        turn = self.staging.take()
        fields = self._hosts[turn]
        self._fill_decodes(fields, batch, num_decodes, self._written[turn])
        self._fill_chunks(fields, batch, num_decodes)
        self.staging.send()

    def _check(self, batch: AttentionBatch, num_decodes: int) -> None:
        counts, contexts = batch.counts[num_decodes:], batch.context_lens
        needed = (len(counts), sum(counts), max(contexts, default=0))
        room = (self.shape.num_chunks, self.shape.num_chunk_tokens, self.shape.max_context)
        if any(need > has for need, has in zip(needed, room, strict=True)):
            raise EngineError(
                f"a batch of {num_decodes} decodes and (chunks, chunk tokens, longest context) {needed} "
                f"does not fit into {self.shape}"
            )

    def _fill_decodes(
        self, fields: PagedFields[np.ndarray], batch: AttentionBatch, count: int, written: Written
    ) -> None:
        rows, room = fields.decodes, self.shape.num_decodes
        contexts = np.asarray(batch.starts[:count], dtype=np.int32) + 1
        self._fill_rows(rows, contexts, batch.block_tables[:count], written)
        rows.cu_queries[:] = np.arange(room + 1)
        np.minimum(rows.cu_queries, count, out=rows.cu_filled)
        positions = contexts - 1
        blocks = rows.block_tables[np.arange(count), positions // self._block_size]
        fields.slots[:count] = blocks * self._block_size + positions % self._block_size
        fields.slots[count:room] = -1

    def _fill_chunks(self, fields: PagedFields[np.ndarray], batch: AttentionBatch, first: int) -> None:
        rows, room = fields.chunks, self.shape.num_chunk_tokens
        starts, counts, tables = batch.starts[first:], batch.counts[first:], batch.block_tables[first:]
        contexts = np.asarray(batch.context_lens[first:], dtype=np.int32)
        self._fill_rows(rows, contexts, tables)
        rows.cu_queries[0] = 0
        np.cumsum(counts, out=rows.cu_queries[1 : len(counts) + 1])
        rows.cu_queries[len(counts) + 1 :] = room
        np.minimum(rows.cu_queries, sum(counts), out=rows.cu_filled)
        slots = fields.slots[self.shape.num_decodes :]
        for begin, start, count, table in zip(rows.cu_queries, starts, counts, tables, strict=False):
            slots[begin : begin + count] = slots_of(table, start, start + count, self._block_size)
        slots[sum(counts) :] = -1

    def _fill_rows(
        self,
        rows: PagedRows[np.ndarray],
        contexts: np.ndarray,
        tables: list[list[int]],
        written: Written | None = None,
    ) -> None:
        """written: what the block tables of these rows hold already."""
        count = len(contexts)
        rows.context_lens[:count] = contexts
        rows.context_lens[count:] = 0
        rows.cu_contexts[0] = 0
        np.cumsum(rows.context_lens, out=rows.cu_contexts[1:])
        needed = -(-contexts // self._block_size)
        for i, (table, blocks) in enumerate(zip(tables, needed.tolist(), strict=True)):
            known, first = written[i] if written is not None else (None, 0)
            first = first if known is table else 0
            if first < blocks:
                rows.block_tables[i, first:blocks] = table[first:blocks]
                if written is not None:
                    written[i] = table, blocks


def _field_sizes(shape: StepShape, block_size: int) -> list[int]:
    width = shape.max_blocks(block_size)
    sizes = [shape.num_tokens]
    for rows in (shape.num_decodes, shape.num_chunks + 1):
        sizes += [rows, rows * width, rows + 1, rows + 1, rows + 1]
    return sizes


def _split(storage: Tensor, shape: StepShape, block_size: int) -> PagedFields[Tensor]:
    """The fields as views of `storage`, each aligned."""
    views, begin = [], 0
    for size in _field_sizes(shape, block_size):
        views.append(storage[begin : begin + size])
        begin += -(-size // ALIGNMENT) * ALIGNMENT
    width = shape.max_blocks(block_size)
    kinds = [
        PagedRows(contexts, tables.view(-1, width), *sums)
        for contexts, tables, *sums in (views[1:6], views[6:11])
    ]
    return PagedFields(views[0], *kinds)


def _as_arrays(fields: PagedFields[Tensor]) -> PagedFields[np.ndarray]:
    kinds = [
        PagedRows(
            rows.context_lens.numpy(),
            rows.block_tables.numpy(),
            rows.cu_queries.numpy(),
            rows.cu_filled.numpy(),
            rows.cu_contexts.numpy(),
        )
        for rows in (fields.decodes, fields.chunks)
    ]
    return PagedFields(fields.slots.numpy(), *kinds)
