"""A transformer layer for inference on a CPU: the arithmetic of `TransformerLayer` in fewer calls.

With a handful of rows a layer costs as much for calling operators as for multiplying. Here the norms'
weights are folded into the products that follow them, residuals are added inside the product that
makes them, weights are in oneDNN's layout, and what lies between two attentions is one call
(`engine/cpu/scripting.py`). Rows whose tokens all see each other are one call from first to last layer.

    pack_model(model)         # inference only
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.cpu.scripting import scripted
from engine.layers.low_rank import NOTHING, Deltas, with_low_rank
from engine.layers.norm import RMSNorm
from engine.layers.packed import pack, pack_layers, packed_product, packed_sum, packing_available
from engine.parallel.layers import group_of
from models.transformer.stack import (
    GATE_UP,
    QKV,
    Attention,
    CosSin,
    GatedMLP,
    Keep,
    Transformer,
    TransformerLayer,
    bidirectional_attention,
    kept_places,
    through_layers,
)


class PackedLayer(nn.Module):
    """Takes the place of a `TransformerLayer` whose residual scale is 1; on a CPU, weights in `dtype`."""

    def __init__(self, layer: TransformerLayer, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        attention = layer.self_attn
        self.layer, self.group = attention.layer, group_of(attention.o_proj)
        self.heads = (attention.num_heads, attention.num_kv_heads, attention.head_dim)
        """Query heads, key and value heads, and their size."""
        attention_floor, attention_factor = _fold(layer.input_layernorm)
        mlp_floor, mlp_factor = _fold(layer.post_attention_layernorm)
        self.input_factors = {QKV: attention_factor, GATE_UP: mlp_factor}
        """What is folded into the weights of a product, by its number: [hidden]."""
        qkv = attention.qkv_proj.weight.detach() * attention_factor
        gate_up = layer.mlp.gate_up_proj.weight.detach() * mlp_factor
        self.before = [attention_floor, pack(qkv, dtype)]
        """What `queries_keys_values` takes; behind them, where queries and keys have norms, `_head_norms`."""
        if attention.qk_norm:
            self.before.extend(_head_norms(attention.q_norm, attention.k_norm, self.heads))
        output, down = (pack(linear.weight, dtype) for linear in (attention.o_proj, layer.mlp.down_proj))
        self.after = [output, mlp_floor, pack(gate_up, dtype), down]
        """What `finish` takes."""

    def forward(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None = None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        """See `TransformerLayer.forward`."""
        q, k, v = queries_keys_values(x, rope, self.heads, self.before, *deltas, 0)
        if isinstance(keep, slice):
            q = q[..., keep, :, :]
        attended = kept_places(attention(self.layer, q, k, v), keep)
        if keep is not None:
            x = x[..., keep, :].contiguous()
        if self.group is None:
            return finish(x, attended, self.after, *deltas, 0)
        # One rank brings the residual to the sum.
        bring = torch.clone if self.group.rank == 0 else torch.zeros_like
        x = self.group.all_reduce(add_attended(bring(x), attended, self.after, *NOTHING, 0))
        return self.group.all_reduce(add_mlp(bring(x), x, self.after, *NOTHING, 0))


class PackedStack:
    """All layers and the final norm of a `Transformer`, see `Transformer.run`."""

    def __init__(self, stack: Transformer) -> None:
        self._layers, self._norm = stack.layers, stack.norm
        self._over_ranks = stack.layers[0].group is not None
        self._heads = stack.layers[0].heads
        self._before = [tensor for layer in stack.layers for tensor in layer.before]
        self._after = [tensor for layer in stack.layers for tensor in layer.after]

    def __call__(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None = None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        if attention is bidirectional_attention and x.ndim == 3 and not self._over_ranks:
            begin, end, _ = (keep or slice(None)).indices(x.shape[1])
            kept = run_rows(x, rope, self._heads, self._before, self._after, begin, end, *deltas)
            return self._norm(kept)
        return self._norm(through_layers(self._layers, x, rope, attention, keep, deltas))


@scripted
def queries_keys_values(
    x: Tensor,
    rope: tuple[Tensor, Tensor] | None,
    heads: tuple[int, int, int],
    weights: list[Tensor],
    rows: list[Tensor | None],
    deltas: list[list[Tensor]],
    place: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """x [..., T, hidden] -> queries [..., T, Hq, D], keys and values [..., T, Hkv, D].

    rows, deltas: see `Deltas`, of the stack; place: of the layer in it.
    """
    num_heads, num_kv_heads, head_dim = heads
    normal = torch.div(x, torch.linalg.vector_norm(x, 2.0, [-1], True).hypot_(weights[0]))
    product = packed_product(normal, weights[1], None)
    product = with_low_rank(product, normal, rows, deltas, 4 * place)
    parts = product.unflatten(-1, [-1, head_dim])
    qk, v = parts.split([num_heads + num_kv_heads, num_kv_heads], dim=-2)
    if len(weights) > 2:
        qk = torch.div(qk, torch.linalg.vector_norm(qk, 2.0, [-1], True).hypot_(weights[2])).mul_(weights[3])
    if rope is not None:
        qk = torch.addcmul(qk * rope[0], qk.roll(head_dim // 2, -1), rope[1])
    q, k = qk.split([num_heads, num_kv_heads], dim=-2)
    return q, k, v


@scripted
def add_attended(
    x: Tensor,
    attended: Tensor,
    weights: list[Tensor],
    rows: list[Tensor | None],
    deltas: list[list[Tensor]],
    place: int,
) -> Tensor:
    """x + the output projection of what attention gave."""
    heads = attended.flatten(-2)
    return with_low_rank(packed_sum(x, heads, weights[0]), heads, rows, deltas, 4 * place + 1)


@scripted
def add_mlp(
    residual: Tensor,
    x: Tensor,
    weights: list[Tensor],
    rows: list[Tensor | None],
    deltas: list[list[Tensor]],
    place: int,
) -> Tensor:
    """residual + the MLP of x, norm included."""
    _, floor, gate_up, down = weights
    normal = torch.div(x, torch.linalg.vector_norm(x, 2.0, [-1], True).hypot_(floor))
    product = packed_product(normal, gate_up, None)
    product = with_low_rank(product, normal, rows, deltas, 4 * place + 2)
    gate, up = product.chunk(2, dim=-1)
    hidden = F.silu(gate).mul_(up)
    return with_low_rank(packed_sum(residual, hidden, down), hidden, rows, deltas, 4 * place + 3)


@scripted
def finish(
    x: Tensor,
    attended: Tensor,
    weights: list[Tensor],
    rows: list[Tensor | None],
    deltas: list[list[Tensor]],
    place: int,
) -> Tensor:
    """The rest of a layer: its input x [..., T, hidden], and what attention gave for it [..., T, Hq, D]."""
    x = add_attended(x, attended, weights, rows, deltas, place)
    return add_mlp(x, x, weights, rows, deltas, place)


@scripted
def run_rows(
    x: Tensor,
    rope: tuple[Tensor, Tensor] | None,
    heads: tuple[int, int, int],
    before: list[Tensor],
    after: list[Tensor],
    begin: int,
    end: int,
    rows: list[Tensor | None],
    deltas: list[list[Tensor]],
) -> Tensor:
    """All layers over rows x [N, L, hidden], each of which sees itself; of the last one tokens [begin, end).

    before, after: the weights of all layers, those of `PackedLayer`.
    """
    count = len(after) // 4
    each = len(before) // count
    for i in range(count):
        q, k, v = queries_keys_values(x, rope, heads, before[each * i : each * i + each], rows, deltas, i)
        if i == count - 1 and end - begin < x.shape[1]:
            q, x = q[:, begin:end], x[:, begin:end].contiguous()
        x = finish(x, bidirectional_attention(i, q, k, v), after[4 * i : 4 * i + 4], rows, deltas, i)
    return x


def pack_model(model: nn.Module, dtype: torch.dtype = torch.float32) -> None:
    """Pack the layers of every transformer below `model`, and its other linear layers, where that applies.

    dtype: of the packed weights, see `engine.layers.packed.weight_dtype`; the model itself is fp32.
    """
    stacks = [module for module in model.modules() if isinstance(module, Transformer) and _fits(module)]
    for stack in stacks:
        stack.layers = nn.ModuleList(PackedLayer(layer, dtype) for layer in stack.layers)
    pack_layers(model, dtype)
    for stack in stacks:
        stack.run = PackedStack(stack)


def _fits(stack: Transformer) -> bool:
    weight = stack.norm.weight
    plain = weight.device.type == "cpu" and weight.dtype is torch.float32 and packing_available()
    return plain and all(
        isinstance(x, TransformerLayer) and x.residual_scale == 1.0 and isinstance(x.mlp, GatedMLP)
        for x in stack.layers
    )


def _fold(norm: RMSNorm) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x^2) + eps) * g, then W, is x / hypot(|x|, sqrt(n eps)), then W diag(sqrt(n) g).

    Returns sqrt(n eps) and sqrt(n) g.
    """
    size = norm.hidden_size
    return torch.tensor(math.sqrt(size * norm.eps)), norm.weight.detach() * math.sqrt(size)


def _head_norms(q_norm: RMSNorm, k_norm: RMSNorm, heads: tuple[int, int, int]) -> list[Tensor]:
    """The floor of `_fold` and the factors of all heads of queries and keys, [Hq + Hkv, D]."""
    num_heads, num_kv_heads, size = heads
    weights = [q_norm.weight] * num_heads + [k_norm.weight] * num_kv_heads
    factors = torch.stack([weight.detach() for weight in weights]) * math.sqrt(size)
    return [torch.tensor(math.sqrt(size * q_norm.eps)), factors.contiguous()]
