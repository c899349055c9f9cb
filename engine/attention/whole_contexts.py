"""Chunks of prompts by PyTorch's own FlashAttention, which takes keys and values of contexts as they come.

Where a step computes many positions that is faster than following block tables. What stands in the cache of
earlier chunks is gathered first. Nothing here can be recorded: launches depend on how long the chunks are.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.attention.sdpa import slots_of
from engine.staging import upload


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

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, cache: Tensor, cu_queries: Tensor, cu_contexts: Tensor
    ) -> Tensor:
        """[T, Hq, D], the last query of a row seeing its whole context; k and v are stored already.

        cache: one layer of the pool. cu_queries, cu_contexts: int32, where those of rows begin.
        """
        if self._slots is not None:
            k, v = cache.flatten(1, 2)[:, self._slots]
        queries, context = self._longest
        return torch.ops.aten._flash_attention_forward(
            q, k, v, cu_queries, cu_contexts, queries, context, 0.0, True, False
        )[0]
