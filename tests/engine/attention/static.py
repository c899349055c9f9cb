"""Attention at fixed addresses in plain PyTorch, for programs on a CPU.

Triton's interpreter runs the real kernels there, a hundred times slower. They have tests of their own
(`tests/engine/attention`); those of programs ask what is laid into a step, and have this in Triton's place.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.attention.metadata import PagedMetadata
from engine.attention.paged import PagedBackend, Tokens


class StaticBackend(PagedBackend):
    """See `PagedBackend`."""

    name = "static"

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        return self._built_for(device, dtype, block_size)

    def decode(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        self._store(tokens, cache, step.slots[: step.shape.num_decodes])
        rows = step.decodes
        out.copy_(self._attend(tokens.q, cache, rows.block_tables, rows.context_lens))

    def prefill(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        self._store(tokens, cache, step.slots[step.shape.num_decodes :])
        rows, index = step.chunks, torch.arange(len(tokens.q), device=tokens.q.device)
        row = torch.searchsorted(rows.cu_queries[1:].contiguous(), index.int(), right=True)
        behind = rows.cu_queries[row + 1] - 1 - index
        limits = (rows.context_lens[row] - behind).clamp(min=0)
        out.copy_(self._attend(tokens.q, cache, rows.block_tables[row], limits))

    def _store(self, tokens: Tokens, cache: Tensor, slots: Tensor) -> None:
        kept = slots >= 0
        for part, new in zip(self._positions(cache, tokens.k), (tokens.k, tokens.v), strict=True):
            part[slots[kept].long()] = new[kept]

    def _attend(self, q: Tensor, cache: Tensor, tables: Tensor, limits: Tensor) -> Tensor:
        """Each query [T, Hq, D] sees the first `limits` [T] positions of its table [T, blocks]."""
        num_kv_heads = cache.shape[-2]
        tables = tables[:, : -(-int(limits.max()) // self._block_size)]  # nobody sees what lies behind
        slots = (
            tables.long()[..., None] * self._block_size + torch.arange(self._block_size, device=q.device)
        ).flatten(1)
        hidden = torch.arange(slots.shape[1], device=q.device) >= limits[:, None]
        keys, values = (
            part[slots].masked_fill(hidden[..., None, None], 0.0)
            for part in cache.view(2, -1, num_kv_heads, q.shape[-1])
        )
        grouped = q.unflatten(1, (num_kv_heads, -1))
        scores = torch.einsum("tkgd,tlkd->tkgl", grouped, keys) * q.shape[-1] ** -0.5
        weights = scores.masked_fill(hidden[:, None, None], float("-inf")).softmax(-1).nan_to_num(0.0)
        return torch.einsum("tkgl,tlkd->tkgd", weights, values).flatten(1, 2)

    @staticmethod
    def _positions(cache: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of all slots, [slots, Hkv, D] each."""
        return cache.view(2, -1, *k.shape[1:]).unbind(0)
