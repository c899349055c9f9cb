"""The interface between a model's attention layers and the kernels that serve them.

A step describes its rows once as host integers (`AttentionBatch`); a backend turns them into whatever its
kernels need (`plan`), and every layer of that step then stores its keys and values and attends (`forward`). A
batch mixes prefill chunks and decodes; with block size 4, the row start 6, count 2, block table [9, 3]
computes positions 6 and 7, stores them in slots 2 and 3 of block 3, and attends to positions 0 to 7, position
6 not seeing position 7.

A model layer sees none of that: it is handed a `PagedAttention` and calls `attention(layer, q, k, v)`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from engine.errors import EngineError
from engine.kv_cache.pool import KVPool

logger = logging.getLogger(__name__)


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
        return [start + count for start, count in zip(self.starts, self.counts, strict=True)]


class AttentionBackend(Protocol):
    """A way to store keys and values and to attend to them."""

    name: str

    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        """None when this combination can be served, else the reason why not."""

    def plan(self, batch: AttentionBatch) -> Any:
        """Turns the rows of one step into the metadata that `forward` takes; called once per step."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, kv_cache: Tensor, metadata: Any) -> Tensor:
        """Stores k, v and attends causally, the last query of a row seeing the whole context of that row.

        Args:
            q: [T, Hq, D]; k, v: [T, Hkv, D], Hq a multiple of Hkv, T the sum of the counts.
            kv_cache: one layer of the pool, [2, num_blocks, block_size, Hkv, D]; written in place.
            metadata: what `plan` returned for this step.

        Returns: [T, Hq, D].
        """


class PagedAttention:
    """Attention of one step, bound to a backend, a pool and that step's metadata."""

    def __init__(self, backend: AttentionBackend, kv_pool: KVPool, metadata: Any) -> None:
        self._forward = backend.forward
        self._layer = kv_pool.layer
        self._metadata = metadata

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Stores k, v [T, Hkv, D] in cache layer `layer`; returns the attention of q, [T, Hq, D]."""
        return self._forward(q, k, v, self._layer(layer), self._metadata)


def _sdpa(device: torch.device, dtype: torch.dtype, block_size: int) -> AttentionBackend:
    from engine.attention.sdpa import SDPABackend

    return SDPABackend(device, dtype, block_size)


BackendFactory = Callable[[torch.device, torch.dtype, int], AttentionBackend]

# In order of preference for "auto".
BACKENDS: dict[str, BackendFactory] = {"sdpa": _sdpa}


def select_backend(
    name: str, device: torch.device | str, dtype: torch.dtype, head_dim: int, block_size: int
) -> AttentionBackend:
    """Builds the backend called `name`, or with "auto" the first that supports the combination.

    Raises:
        EngineError: an unknown name, or no backend for this combination, with the reason of each.
    """
    device = torch.device(device)
    if name != "auto" and name not in BACKENDS:
        raise EngineError(f"unknown attention backend {name!r}; there are: auto, {', '.join(BACKENDS)}")
    reasons: list[str] = []
    for candidate in BACKENDS if name == "auto" else (name,):
        try:
            backend = BACKENDS[candidate](device, dtype, block_size)
        except ImportError as error:
            reasons.append(f"{candidate}: {error}")
            continue
        reason = backend.supports(device, dtype, head_dim, block_size)
        if reason is None:
            why = "; ".join(reasons) or ("first choice" if name == "auto" else "asked for")
            logger.info("attention backend %s on %s %s (%s)", backend.name, device, dtype, why)
            return backend
        reasons.append(f"{candidate}: {reason}")
    raise EngineError(f"no attention backend for {device} {dtype} head_dim {head_dim}: {'; '.join(reasons)}")
