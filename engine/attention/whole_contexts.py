"""Chunks of prompts by kernels that take keys and values of contexts as they come, one after the other.

Where a step computes many positions that is faster than following block tables. What stands in the cache of
earlier chunks is gathered first. `triton_backend.prompts` computes them where it can, PyTorch's own
FlashAttention 2 elsewhere. Nothing here can be recorded: launches depend on how long the chunks are.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch
from engine.attention.sdpa import slots_of
from engine.attention.triton_backend.prompts import HEAD_DIMS, LAUNCH, attend, tiling
from engine.device.staging import upload
from engine.kernels.launch import pdl


class WholeContexts:
    """Attention over whole contexts, for the chunks of one batch without decodes."""

    def __init__(self, batch: AttentionBatch, block_size: int, device: torch.device) -> None:
        contexts = batch.context_lens
        self._longest = max(batch.counts), max(contexts)
        self._tiles: Tensor | None = None
        if pdl(device):  # the devices whose memory has descriptors, too
            self._tiles = upload(tiling(batch.starts, batch.counts, LAUNCH.queries), device)
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
            k, v = (side.flatten(0, 1)[self._slots] for side in cache)
        if self._tiles is not None and q.shape[-1] in HEAD_DIMS:
            return attend(q, k, v, self._tiles, cu_queries, cu_contexts)
        queries, context = self._longest
        return torch.ops.aten._flash_attention_forward(
            q, k, v, cu_queries, cu_contexts, queries, context, 0.0, True, False
        )[0]
