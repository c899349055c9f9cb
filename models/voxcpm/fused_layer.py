"""A transformer layer for inference on CUDA: the arithmetic of `TransformerLayer` in eight kernels or five.

Norms, rotation, attention over short rows and the MLP's gate are one Triton kernel each, and residuals are
added by the products that make them. With few rows the norms and the gate too are part of the products. Sums,
and everything within a kernel, are fp32; the weights are those of the layer, not copies.

    fuse_layers(model)        # inference only
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.kernels.activation import silu_mul
from engine.kernels.norm import rms_norm
from engine.kernels.rotary import rotate_
from engine.kernels.row_attention import fits, row_attention
from engine.kernels.skinny_linear import MAX_ROWS, skinny_linear
from engine.kernels.skinny_linear import fits as fits_few_rows
from engine.layers.norm import RMSNorm
from models.voxcpm.transformer import (
    Attention,
    CosSin,
    Transformer,
    TransformerLayer,
    bidirectional_attention,
)


class FusedLayer(nn.Module):
    """Takes the place of a `TransformerLayer`.

    Args:
        in_place: whether the layer may overwrite its input, as it may within a stack.
        few_rows: up to how many rows (tokens) the products do all but attention.
    """

    def __init__(self, layer: TransformerLayer, in_place: bool, few_rows: int = MAX_ROWS) -> None:
        super().__init__()
        attention = layer.self_attn
        self.layer, self.in_place, self.few_rows = attention.layer, in_place, few_rows
        self.num_heads, self.num_kv_heads = attention.num_heads, attention.num_kv_heads
        self.head_dim = attention.head_dim
        self.residual_scale = layer.residual_scale
        self.input_layernorm = FusedRMSNorm(layer.input_layernorm)
        self.post_attention_layernorm = FusedRMSNorm(layer.post_attention_layernorm)
        self.qkv, self.output = attention.qkv_proj.weight, attention.o_proj.weight
        self.gate_up, self.down = layer.mlp.gate_up_proj.weight, layer.mlp.down_proj.weight

    def forward(
        self, x: Tensor, rope: CosSin | None, attention: Attention, keep: slice | None = None
    ) -> Tensor:
        """See `TransformerLayer.forward`."""
        num_rows = x[..., 0].numel()
        if num_rows <= self.few_rows and fits_few_rows(num_rows, self.qkv):
            return self._few_rows(x, rope, attention, keep)
        qkv = F.linear(self.input_layernorm(x), self.qkv)
        attended = self._attend(qkv, rope, attention, keep)
        if keep is not None or not self.in_place:
            x = x[..., keep or slice(None), :].clone(memory_format=torch.contiguous_format)
        self._add_product(x, attended, self.output)
        gate_up = F.linear(self.post_attention_layernorm(x), self.gate_up)
        self._add_product(x, silu_mul(gate_up.flatten(0, -2)), self.down)
        return x

    def _few_rows(self, x: Tensor, rope: CosSin | None, attention: Attention, keep: slice | None) -> Tensor:
        before_attention, before_mlp = self.input_layernorm, self.post_attention_layernorm
        qkv = skinny_linear(x, self.qkv, norm=before_attention.weight, eps=before_attention.eps)
        attended = self._attend(qkv, rope, attention, keep)
        residual = x if keep is None else x[..., keep, :]
        x = skinny_linear(attended, self.output, residual=residual, alpha=self.residual_scale)
        hidden = skinny_linear(x, self.gate_up, norm=before_mlp.weight, eps=before_mlp.eps, gated=True)
        return skinny_linear(hidden, self.down, residual=x, alpha=self.residual_scale, out=x)

    def _attend(self, qkv: Tensor, rope: CosSin | None, attention: Attention, keep: slice | None) -> Tensor:
        """Attention over rows [N, L, C] or, in whatever way `attention` goes about it, over a flat batch."""
        if attention is bidirectional_attention and qkv.dim() == 3 and fits(qkv.shape[1], self.head_dim):
            return row_attention(qkv, self.num_heads, self.num_kv_heads, rope, keep)
        rotated = self.num_heads + self.num_kv_heads
        if rope is not None:
            cos, sin = (factor.expand(*qkv.shape[:-1], -1, -1).flatten(0, -3) for factor in rope)
            rotate_(qkv.view(-1, qkv.shape[-1]), rotated, self.head_dim, cos, sin)
        heads = qkv.unflatten(-1, (-1, self.head_dim))
        q, k, v = heads.split([self.num_heads, self.num_kv_heads, self.num_kv_heads], dim=-2)
        if keep is not None:
            q = q[..., keep, :, :]
        return attention(self.layer, q, k, v).flatten(-2)

    def _add_product(self, x: Tensor, update: Tensor, weight: Tensor) -> None:
        rows = x.view(-1, x.shape[-1])
        rows.addmm_(update.reshape(-1, update.shape[-1]), weight.t(), alpha=self.residual_scale)


class FusedRMSNorm(RMSNorm):
    """`RMSNorm` in one kernel."""

    def __init__(self, norm: RMSNorm) -> None:
        super().__init__(norm.hidden_size, norm.eps)
        self.weight = norm.weight

    def forward(self, x: Tensor) -> Tensor:
        """See `RMSNorm.forward`."""
        return rms_norm(x, self.weight, self.eps)


def fuse_layers(model: nn.Module, few_rows: int = MAX_ROWS) -> None:
    """Put fused layers and norms into every transformer below `model`; the weights stay where they are."""
    for module in list(model.modules()):
        if isinstance(module, Transformer):
            module.layers = nn.ModuleList(
                FusedLayer(layer, place > 0, few_rows) for place, layer in enumerate(module.layers)
            )
            module.norm = FusedRMSNorm(module.norm)
