"""What the backends share whose kernels follow block tables themselves: metadata, and a step in two parts.

The leading rows of a batch with one query are decodes, the rest are chunks; each kind has its own kernel, and
a part without room in the step's shape launches nothing. `Backend.buffers` returns metadata that keeps its
addresses, so that a forward captured in a CUDA graph serves every batch that `plan` later lays into it:

    metadata = backend.buffers(StepShape(num_decodes=8, max_context=4096))
    with torch.cuda.graph(graph): out = backend.forward(q, k, v, cache, metadata)
    backend.plan(batch, out=metadata); graph.replay()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.attention.backend import AttentionBatch, HeadNorms, Rope, StepShape
from engine.attention.metadata import PagedMetadata
from engine.errors import EngineError
from engine.layers.rotary import apply_rotary

FLASH_PAGE_MULTIPLE = 256
FLASH_MIN_QUERIES = 2
"""Told that no row has more than one query, FlashAttention 2 takes every row to have exactly one."""


@dataclass(frozen=True)
class Tokens:
    """Queries [T, Hq, D], keys and values [T, Hkv, D], and what is to normalise and to rotate them (where a
    backend does)."""

    q: Tensor
    k: Tensor
    v: Tensor
    rope: Rope | None = None
    norms: HeadNorms | None = None

    def part(self, begin: int, end: int) -> Tokens:
        """The tokens from `begin` to `end`."""
        rope = self.rope and (self.rope[0][begin:end], self.rope[1][begin:end])
        return Tokens(self.q[begin:end], self.k[begin:end], self.v[begin:end], rope, self.norms)


class PagedBackend(ABC):
    """Base of the backends on `PagedMetadata`.

    Args:
        device, dtype: of queries, keys, values and cache.
        block_size: positions per block of the cache.
    """

    name: str
    capturable = True
    rotates = False
    normalises = False

    def __init__(self, device: torch.device | str, dtype: torch.dtype, block_size: int) -> None:
        self._device, self._dtype, self._block_size = torch.device(device), dtype, block_size

    @abstractmethod
    def supports(
        self, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
    ) -> str | None:
        """See `AttentionBackend.supports`."""

    @abstractmethod
    def decode(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        """Attends the decode rows [B, heads, D] into `out`, their keys and values stored as well."""

    @abstractmethod
    def prefill(self, tokens: Tokens, cache: Tensor, step: PagedMetadata, out: Tensor) -> None:
        """Attends the chunk rows [num_chunk_tokens, heads, D] into `out`, as `decode` does decode rows."""

    def prefill_alone(self, tokens: Tokens, cache: Tensor, step: PagedMetadata) -> Tensor | None:
        """What `prefill` does, of a step without decodes, as a tensor of its own; None: not here."""
        return None

    def buffers(self, shape: StepShape) -> PagedMetadata:
        """Metadata for any step that fits into `shape`; see `AttentionBackend.buffers`."""
        return PagedMetadata(shape, self._block_size, self._device)

    def plan(self, batch: AttentionBatch, out: PagedMetadata | None = None) -> PagedMetadata:
        """Lays `batch` into `out`, or into metadata of exactly its shape; see `AttentionBackend.plan`."""
        if out is None:
            out = PagedMetadata(StepShape.of(batch), self._block_size, self._device, num_staging=1)
        out.fill(batch)
        return out

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        kv_cache: Tensor,
        metadata: PagedMetadata,
        rope: Rope | None = None,
        norms: HeadNorms | None = None,
    ) -> Tensor:
        """See `AttentionBackend.forward`. Raises EngineError where `metadata` is of another step."""
        shape = metadata.shape
        if len(q) != shape.num_tokens:
            raise EngineError(f"{len(q)} queries for a step of {shape.num_tokens}")
        if norms is not None and (shape.num_chunk_tokens or not self.normalises):
            raise EngineError(f"{self.name} attention normalises no heads of {shape}")
        if rope is not None and not self.rotates:
            q, k, rope = apply_rotary(q, *rope), apply_rotary(k, *rope), None
        q, k, v = (part if part.stride(-1) == 1 else part.contiguous() for part in (q, k, v))
        tokens, split = Tokens(q, k, v, rope, norms), shape.num_decodes
        if not split and (attended := self.prefill_alone(tokens, kv_cache, metadata)) is not None:
            return attended
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        if split:
            self.decode(tokens.part(0, split), kv_cache, metadata, out[:split])
        if shape.num_chunk_tokens:
            self.prefill(tokens.part(split, len(q)), kv_cache, metadata, out[split:])
        return out

    def _built_for(self, device: torch.device, dtype: torch.dtype, block_size: int) -> str | None:
        """The reason when this is not what the constructor was told."""
        built = (self._device.type, self._dtype, self._block_size)
        if (device.type, dtype, block_size) != built:
            return "built for {} {} block size {}".format(*built)
        return None


def copy_filled(attended: Tensor, slots: Tensor, out: Tensor) -> None:
    """Attention [T, H, D] of positions with these slots into `out`, where padding gets zeros."""
    out.copy_(attended).masked_fill_((slots < 0)[:, None, None], 0.0)


def why_not_flash(device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int) -> str | None:
    """What paged FlashAttention 2 cannot serve, whoever ships it; None when it can."""
    if device.type != "cuda":
        return f"needs CUDA, not {device.type}"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "needs compute capability 8.0"
    if dtype not in (torch.float16, torch.bfloat16):
        return f"{dtype} is neither float16 nor bfloat16"
    if head_dim % 8 or head_dim > 256:
        return f"head_dim {head_dim} is not a multiple of 8 up to 256"
    if block_size % FLASH_PAGE_MULTIPLE:
        return f"block size {block_size} is not a multiple of {FLASH_PAGE_MULTIPLE}"
    return None
