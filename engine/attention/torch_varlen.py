"""Paged attention by PyTorch's own `varlen_attn`, in releases that take a block table (2.12 and later).

It is FlashAttention 2 inside, with the same limits. Contexts are never split: with automatic splits, paged
attention of several sequences is known to return wrong results (pytorch#194167), so long contexts of few
sequences are slow here.
"""

from __future__ import annotations

import inspect

import torch
from torch import Tensor
from torch.nn.attention.varlen import varlen_attn

from engine.attention.metadata import PagedMetadata, PagedRows
from engine.attention.paged import FLASH_MIN_QUERIES, PagedBackend, Tokens, copy_filled, why_not_flash
from engine.attention.triton_backend.backend import store

CAUSAL = (-1, 0)


class TorchVarlenBackend(PagedBackend):
    """See `PagedBackend`."""

    name = "torch_varlen"

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        if "block_table" not in inspect.signature(varlen_attn).parameters:
            return f"varlen_attn of torch {torch.__version__} takes no block table"
        return why_not_flash(device, dtype, head_dim, block_size) or self._built_for(
            device, dtype, block_size
        )

    def decode(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        slots = step.slots[: len(tokens.q)]
        store(tokens, cache, slots)
        copy_filled(_attend(tokens.q, cache, step.decodes, 1, step.shape.max_context), slots, out)

    def prefill(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        slots = step.slots[step.shape.num_decodes :]
        store(tokens, cache, slots)
        max_queries = max(FLASH_MIN_QUERIES, step.shape.num_chunk_tokens)
        attended = _attend(tokens.q, cache, step.chunks, max_queries, step.shape.max_context)
        copy_filled(attended, slots, out)


def _attend(q: Tensor, cache: Tensor, rows: PagedRows[Tensor], max_queries: int, max_context: int) -> Tensor:
    return varlen_attn(
        q,
        cache[0],
        cache[1],
        rows.cu_filled,
        rows.cu_contexts,
        max_queries,
        max_context,
        window_size=CAUSAL,
        enable_gqa=q.shape[1] != cache.shape[3],
        seqused_k=rows.context_lens,
        block_table=rows.block_tables,
        num_splits=1,
    )
