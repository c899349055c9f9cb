"""Paged attention by flash-attn 2 (an optional package): pages of a multiple of 256 positions.

Keys and values are stored by this engine's own kernel, which skips padding; flash-attn then reads the pages:
`flash_attn_with_kvcache` for decodes, splitting contexts as it sees fit, `flash_attn_varlen_func` for chunks.
Decodes of context 0 come back as zeros. Chunks of context 0 must have no queries: for these the kernel writes
behind its own log-sum-exps, into memory of others (Dao-AILab/flash-attention#2842).
"""

from __future__ import annotations

import torch
from flash_attn import flash_attn_varlen_func, flash_attn_with_kvcache
from torch import Tensor

from engine.attention.metadata import PagedMetadata
from engine.attention.paged import FLASH_MIN_QUERIES, PagedBackend, Tokens, copy_filled, why_not_flash
from engine.attention.triton_backend.backend import store


class FlashBackend(PagedBackend):
    """See `PagedBackend`."""

    name = "flash"

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        return why_not_flash(device, dtype, head_dim, block_size) or self._built_for(
            device, dtype, block_size
        )

    def decode(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        store(tokens, cache, step.slots[: len(tokens.q)])
        attended = flash_attn_with_kvcache(
            tokens.q[:, None],
            cache[0],
            cache[1],
            cache_seqlens=step.decodes.context_lens,
            block_table=step.decodes.block_tables,
            causal=True,
        )
        out.copy_(attended[:, 0])

    def prefill(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        store(tokens, cache, step.slots[step.shape.num_decodes :])
        rows = step.chunks
        attended = flash_attn_varlen_func(
            tokens.q,
            cache[0],
            cache[1],
            rows.cu_filled,
            rows.cu_contexts,
            max(FLASH_MIN_QUERIES, step.shape.num_chunk_tokens),
            step.shape.max_context,
            causal=True,
            block_table=rows.block_tables,
        )
        copy_filled(attended, step.slots[step.shape.num_decodes :], out)
