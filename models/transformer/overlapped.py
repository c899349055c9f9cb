"""Many rows of a stack over several ranks: the sum of one chunk is under way while the next one is computed.

A layer needs all rows at once for attention alone. Everything else goes chunk by chunk, and what a chunk
waits for was begun before the other chunks were computed:

    normed = run_overlapped(stack.layers, stack.norm, x, rope, attention)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.kernels.activation import silu_mul
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.layers.norm import RMSNorm
from engine.parallel.group import Group
from models.transformer.stack import Attention, CosSin, Keep

CHUNK_ROWS, MOST_CHUNKS = 1024, 4
"""Rows of a chunk, at least."""


class Layer(Protocol):
    """What is asked of a `models.transformer.fused.FusedLayer` of a rank."""

    group: Group
    residual_scale: float
    input_layernorm: RMSNorm
    post_attention_layernorm: RMSNorm
    qkv: Tensor
    output: Tensor
    gate_up: Tensor
    down: Tensor

    def attend(self, qkv: Tensor, rope: CosSin | None, attention: Attention, keep: Keep | None) -> Tensor: ...


def pays(num_rows: int) -> bool:
    """Whether so many rows are more than one chunk."""
    return num_rows >= 2 * CHUNK_ROWS


def run_overlapped(
    layers: Sequence[Layer], norm: RMSNorm, x: Tensor, rope: CosSin | None, attention: Attention
) -> Tensor:
    """All layers and the final norm: x [T, hidden] -> the same shape."""
    count, first = min(MOST_CHUNKS, len(x) // CHUNK_ROWS), layers[0]
    chunks = [_Chunk(rows, first.group, first.residual_scale) for rows in x.chunk(count)]
    sizes = [len(chunk.x) for chunk in chunks]
    for layer in layers:
        qkv = x.new_empty(len(x), len(layer.qkv))
        for chunk, out in zip(chunks, qkv.split(sizes), strict=True):
            torch.mm(chunk.normed(layer.input_layernorm), layer.qkv.t(), out=out)
        attended = layer.attend(qkv, rope, attention, None)
        for chunk, own in zip(chunks, attended.split(sizes), strict=True):
            chunk.add(own, layer.output)
        for chunk in chunks:
            gate_up = F.linear(chunk.normed(layer.post_attention_layernorm), layer.gate_up)
            chunk.add(silu_mul(gate_up), layer.down)
    return torch.cat([chunk.normed(norm) for chunk in chunks])


class _Chunk:
    """Rows x [t, hidden], and a sum that they lack yet."""

    def __init__(self, x: Tensor, group: Group, scale: float) -> None:
        self.x, self._group, self._scale = x, group, scale
        self._sum: Callable[[], Tensor] | None = None

    def add(self, update: Tensor, weight: Tensor) -> None:
        """Begin to sum a product over the ranks."""
        self._sum = self._group.begin_sum(F.linear(update, weight))

    def normed(self, norm: RMSNorm) -> Tensor:
        """With what was added."""
        if self._sum is None:
            return norm(self.x)
        parts, self._sum = self._sum()[None], None
        self.x, normed = add_and_norm(parts, self.x, norm.weight, norm.eps, self._scale)
        return normed
