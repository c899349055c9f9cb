"""Chunks of prompts by PyTorch's own FlashAttention, which takes keys and values of contexts as they come.

Where a step computes many positions that is faster than following block tables. What stands in the cache of
earlier chunks is gathered first. Nothing here can be recorded: launches depend on how long the chunks are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.attention.sdpa import slots_of
from engine.staging import upload

if TYPE_CHECKING:
    from engine.attention.metadata import PagedRows
    from engine.attention.paged import Tokens


class WholeContexts:
    """Of the chunks of one batch, which has no decodes."""

    def __init__(self, batch: AttentionBatch, block_size: int, device: torch.device) -> None:
        contexts = batch.context_lens
        self._longest = max(batch.counts), max(contexts)
        self._slots: Tensor | None = None
        if any(batch.starts):
            rows = zip(batch.block_tables, contexts, strict=True)
            slots = [slots_of(table, 0, context, block_size) for table, context in rows]
            self._slots = upload(np.concatenate(slots).astype(np.int64), device)

    def attend(self, tokens: Tokens, cache: Tensor, rows: PagedRows[Tensor]) -> Tensor:
        """[T, Hq, D]; keys and values are stored already. cache: one layer of the pool."""
        k, v = tokens.k, tokens.v
        if self._slots is not None:
            k, v = cache.flatten(1, 2)[:, self._slots]
        queries, context = self._longest
        return torch.ops.aten._flash_attention_forward(
            tokens.q, k, v, rows.cu_queries, rows.cu_contexts, queries, context, 0.0, True, False
        )[0]
