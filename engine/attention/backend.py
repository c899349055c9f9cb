"""The interface between a model's attention layers and the kernels that serve them.

A step describes its rows once as host integers (`AttentionBatch`); a backend turns them into whatever its
kernels need (`plan`), and every layer of that step then stores its keys and values and attends (`forward`). A
batch mixes prefill chunks and decodes; with block size 4, the row start 6, count 2, block table [9, 3]
computes positions 6 and 7, stores them in slots 2 and 3 of block 3, and attends to positions 0 to 7, position
6 not seeing position 7.

A model layer sees none of that: it is handed a `PagedAttention` and calls `attention(layer, q, k, v)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from engine.kv_cache.pool import KVPool

Rope = tuple[Tensor, Tensor]
"""Cosines and sines for every query of a step, fp32 [T, 1, D] as `LongRope.cos_sin` gives them."""


class HeadNorms(NamedTuple):
    """Root-mean-square norms of queries and keys, head by head, before they are rotated: weights [D]."""

    q: Tensor
    k: Tensor
    eps: float


@dataclass
class AttentionBatch:
    """Host-side description of one step; row i computes positions [starts[i], starts[i] + counts[i]).

    Queries, keys and values of the rows are concatenated in row order. The context of row i is
    `starts[i] + counts[i]` positions long, and `block_tables[i]` must cover it.
    """

    starts: list[int]
    counts: list[int]
    block_tables: list[list[int]]

    @property
    def context_lens(self) -> list[int]:
        """Positions of each row's context, those of this step included."""
        return [start + count for start, count in zip(self.starts, self.counts, strict=True)]

    @property
    def num_leading_decodes(self) -> int:
        """How many rows of one query the batch begins with."""
        return next((i for i, count in enumerate(self.counts) if count != 1), len(self.counts))


@dataclass(frozen=True)
class StepShape:
    """Room for one step, for which kernels are launched whatever the batch in it needs of it.

    The queries of a step are laid out as `num_decodes` rows, row i for decode i, followed by
    `num_chunk_tokens` rows for up to `num_chunks` chunks, one after the other. What a batch leaves unused of
    either is padding: nothing is stored for it, and its output is zero.

    Attributes:
        max_context: positions of the longest context.
    """

    num_decodes: int
    num_chunks: int = 0
    num_chunk_tokens: int = 0
    max_context: int = 1

    @classmethod
    def of(cls, batch: AttentionBatch) -> StepShape:
        """The shape that `batch` fills exactly."""
        decodes = batch.num_leading_decodes
        chunks = batch.counts[decodes:]
        return cls(decodes, len(chunks), sum(chunks), max(batch.context_lens, default=1))

    @property
    def num_tokens(self) -> int:
        """Rows of q, k and v."""
        return self.num_decodes + self.num_chunk_tokens

    def max_blocks(self, block_size: int) -> int:
        """Blocks of the longest context."""
        return max(1, -(-self.max_context // block_size))


class AttentionBackend(Protocol):
    """A way to store keys and values and to attend to them.

    Attributes:
        capturable: whether `buffers` works, that is whether `forward` can be part of a CUDA graph.
        rotates: whether `forward` rotates queries and keys as it loads them, which costs less than before.
        normalises: whether it normalises those of decodes, too.
    """

    name: str
    capturable: bool
    rotates: bool
    normalises: bool

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        """None when this combination can be served, else the reason why not."""

    def buffers(self, shape: StepShape) -> Any:
        """Metadata at fixed addresses for any step that fits into `shape`, for a forward to be captured.

        Raises:
            EngineError: the backend is not `capturable`.
        """

    def plan(self, batch: AttentionBatch, out: Any = None) -> Any:
        """Turns the rows of one step into the metadata that `forward` takes; called once per step.

        Args:
            out: metadata from `buffers` to lay the batch into; the captured forward then serves this batch.

        Returns: `out`, or new metadata of exactly the batch's shape.

        Raises:
            EngineError: the batch does not fit into `out`.
        """

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        kv_cache: Tensor,
        metadata: Any,
        rope: Rope | None = None,
        norms: HeadNorms | None = None,
    ) -> Tensor:
        """Stores k, v and attends causally, the last query of a row seeing the whole context of that row.

        Args:
            q: [T, Hq, D]; k, v: [T, Hkv, D], Hq a multiple of Hkv, T the sum of the counts, or
                `shape.num_tokens` with metadata from `buffers`.
            kv_cache: one layer of the pool, [2, num_blocks, block_size, Hkv, D]; written in place.
            metadata: what `plan` returned for this step.
            rope: rotates q, and k before it is stored, as `apply_rotary` does.
            norms: of q, and of k before it is stored; only of a step of decodes, where `normalises` holds.

        Returns: [T, Hq, D].
        """


class PagedAttention:
    """Attention of one step, bound to a backend, a pool and that step's metadata.

    Attributes:
        rotates: see `AttentionBackend`.
        normalises: whether norms may be given in this step.
    """

    def __init__(self, backend: AttentionBackend, kv_pool: KVPool, metadata: Any) -> None:
        self.rotates = backend.rotates
        self.normalises = backend.normalises and metadata.shape.num_chunk_tokens == 0
        self._forward, self._dtype = backend.forward, kv_pool.tensor.dtype
        self._layer = kv_pool.layer
        self._metadata = metadata

    def __call__(
        self,
        layer: int,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        rope: Rope | None = None,
        norms: HeadNorms | None = None,
    ) -> Tensor:
        """Stores k, v [T, Hkv, D] in cache layer `layer`; returns the attention of q, [T, Hq, D].

        All is computed in the cache's precision and returned in that of q.
        """
        given = q.dtype
        if given is not self._dtype:
            q, k, v = q.to(self._dtype), k.to(self._dtype), v.to(self._dtype)
        return self._forward(q, k, v, self._layer(layer), self._metadata, rope, norms).to(given)
