"""A transformer layer for inference on a CPU: the arithmetic of `TransformerLayer` in fewer calls.

With a handful of rows a layer costs as much for calling operators as for multiplying. Here the norms'
weights are folded into the products that follow them, residuals are added inside the product that
makes them, and weights are in oneDNN's layout.

    pack_model(model)         # inference only
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.norm import RMSNorm
from engine.layers.packed import pack_layers, packing_available
from engine.layers.rotary import apply_rotary
from models.voxcpm.transformer import Attention, CosSin, Transformer, TransformerLayer


class PackedLayer(nn.Module):
    """Takes the place of a `TransformerLayer` whose residual scale is 1; fp32 on the CPU."""

    def __init__(self, layer: TransformerLayer) -> None:
        super().__init__()
        attention = layer.self_attn
        self.layer = attention.layer
        self.num_heads, self.head_dim = attention.num_heads, attention.head_dim
        self.rotated = attention.num_heads + attention.num_kv_heads
        self._attention_floor, qkv = _fold(layer.input_layernorm, attention.qkv_proj.weight)
        self._mlp_floor, gate_up = _fold(layer.post_attention_layernorm, layer.mlp.gate_up_proj.weight)
        self._qkv, self._gate_up = _pack(qkv), _pack(gate_up)
        self._output, self._down = _pack(attention.o_proj.weight), _pack(layer.mlp.down_proj.weight)

    def forward(
        self, x: Tensor, rope: CosSin | None, attention: Attention, keep: slice | None = None
    ) -> Tensor:
        """See `TransformerLayer.forward`."""
        heads = _product(_normalize(x, self._attention_floor), self._qkv).unflatten(-1, (-1, self.head_dim))
        qk, v = heads[..., : self.rotated, :], heads[..., self.rotated :, :]
        if rope is not None:
            qk = apply_rotary(qk, *rope)
        q, k = qk[..., : self.num_heads, :], qk[..., self.num_heads :, :]
        if keep is not None:
            q, x = q[..., keep, :, :], x[..., keep, :].contiguous()
        x = _add_product(x, attention(self.layer, q, k, v).flatten(-2), self._output)
        gate, up = _product(_normalize(x, self._mlp_floor), self._gate_up).chunk(2, dim=-1)
        return _add_product(x, F.silu(gate).mul_(up), self._down)


def pack_model(model: nn.Module) -> None:
    """Pack the layers of every transformer below `model`, and its other linear layers, where that applies."""
    for module in list(model.modules()):
        if isinstance(module, Transformer) and _fits(module):
            module.layers = nn.ModuleList(PackedLayer(layer) for layer in module.layers)
    pack_layers(model)


def _fits(stack: Transformer) -> bool:
    weight = stack.norm.weight
    plain = weight.device.type == "cpu" and weight.dtype is torch.float32 and packing_available()
    return plain and all(isinstance(x, TransformerLayer) and x.residual_scale == 1.0 for x in stack.layers)


def _fold(norm: RMSNorm, weight: Tensor) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x^2) + eps) * g, then W, is x / hypot(|x|, sqrt(n eps)), then W diag(sqrt(n) g)."""
    size = norm.hidden_size
    return torch.tensor(math.sqrt(size * norm.eps)), weight.detach() * (
        norm.weight.detach() * math.sqrt(size)
    )


def _pack(weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), None)


def _normalize(x: Tensor, floor: Tensor) -> Tensor:
    return torch.div(x, torch.linalg.vector_norm(x, dim=-1, keepdim=True).hypot_(floor))


def _product(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")


def _add_product(residual: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise.binary(x, residual, weight, None, "add")
