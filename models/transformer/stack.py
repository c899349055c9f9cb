"""The transformer stack of every model here: the Llama layout, where wanted with norms of queries and keys.

The same module serves causal language models (flat tokens, paged KV cache) and the small bidirectional
transformers of VoxCPM's local encoder and DiT (rows of a few tokens). What differs is the attention callable
that the caller passes in:

    hidden = stack(embeds, stack.cos_sin(positions), attention)
    # attention(layer, q[..., Hq, D], k[..., Hkv, D], v[..., Hkv, D]) -> [..., Hq, D]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.low_rank import NOTHING, Deltas, with_low_rank
from engine.layers.norm import RMSNorm
from engine.layers.rotary import Rotary, apply_rotary
from engine.parallel.layers import columns, rows, token_embedding
from engine.parallel.part import WHOLE, Cut, Part

Attention = Callable[[int, Tensor, Tensor, Tensor], Tensor]
CosSin = tuple[Tensor, Tensor]
Keep = slice | Tensor
"""Of the tokens of a row a slice, whose queries alone attend. Of a flat batch, all of whose queries attend,
the places [N] int64 that are read; not with deltas."""
Run = Callable[..., Tensor]
"""(x, rope, attention, keep, deltas?), see `Transformer.forward`. Deltas are given where there are any."""
PRODUCTS = 4
QKV, OUTPUT, GATE_UP, DOWN = range(PRODUCTS)
"""The products of a layer, in the order in which deltas count them."""


class StackShape(Protocol):
    """What a family's configuration says of one stack.

    vocab_size: 0 for a stack without a token embedding. residual_scale: factor of what each half of a layer
    adds. qk_norm: whether queries and keys are normalised, head by head, before they are rotated.
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    vocab_size: int
    rms_norm_eps: float

    @property
    def head_dim(self) -> int: ...

    @property
    def residual_scale(self) -> float: ...

    @property
    def qk_norm(self) -> bool: ...

    def rotary(self) -> Rotary | None:
        """The rotary embedding; None for a stack without one."""


def bidirectional_attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Every token of a row sees the whole row: q [N, L, Hq, D], k and v [N, L, Hkv, D] -> [N, L, Hq, D]."""
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), enable_gqa=q.shape[-2] != k.shape[-2]
    )
    return out.transpose(1, 2)


class SelfAttention(nn.Module):
    def __init__(self, config: StackShape, layer: int, part: Part) -> None:
        super().__init__()
        self.layer = layer
        self.head_dim = config.head_dim
        heads, kv_heads = part.heads(config.num_attention_heads, config.num_key_value_heads)
        self.num_heads, self.num_kv_heads = len(heads), len(kv_heads)
        q = _cut_heads(heads, config.num_attention_heads, self.head_dim)
        kv = _cut_heads(kv_heads, config.num_key_value_heads, self.head_dim)
        self.qkv_proj = columns(config.hidden_size, {"q_proj": q, "k_proj": kv, "v_proj": kv})
        self.o_proj = rows(part, q, config.hidden_size)
        if config.qk_norm:
            self.q_norm = RMSNorm(self.head_dim, config.rms_norm_eps)
            self.k_norm = RMSNorm(self.head_dim, config.rms_norm_eps)
        self.qk_norm = config.qk_norm

    def forward(
        self, x: Tensor, rope: CosSin | None, attention: Attention, keep: Keep | None, deltas: Deltas
    ) -> Tensor:
        heads = with_low_rank(self.qkv_proj(x), x, *deltas, QKV).unflatten(-1, (-1, self.head_dim))
        rotated = self.num_heads + self.num_kv_heads
        qk, v = heads[..., :rotated, :], heads[..., rotated:, :]
        if self.qk_norm:
            q, k = qk[..., : self.num_heads, :], qk[..., self.num_heads :, :]
            qk = torch.cat([self.q_norm(q), self.k_norm(k)], dim=-2)
        if rope is not None:
            qk = apply_rotary(qk, *rope)
        q, k = qk[..., : self.num_heads, :], qk[..., self.num_heads :, :]
        if isinstance(keep, slice):
            q = q[..., keep, :, :]
        attended = kept_places(attention(self.layer, q, k, v).flatten(-2), keep)
        return with_low_rank(self.o_proj(attended), attended, *deltas, OUTPUT)


class GatedMLP(nn.Module):
    def __init__(self, config: StackShape, part: Part) -> None:
        super().__init__()
        inner = part.cut(config.intermediate_size, "intermediate_size")
        self.gate_up_proj = columns(config.hidden_size, {"gate_proj": inner, "up_proj": inner})
        self.down_proj = rows(part, inner, config.hidden_size)

    def forward(self, x: Tensor, deltas: Deltas) -> Tensor:
        gate, up = with_low_rank(self.gate_up_proj(x), x, *deltas, GATE_UP).chunk(2, dim=-1)
        hidden = F.silu(gate) * up
        return with_low_rank(self.down_proj(hidden), hidden, *deltas, DOWN)


class TransformerLayer(nn.Module):
    def __init__(self, config: StackShape, layer: int, part: Part = WHOLE) -> None:
        super().__init__()
        self.self_attn = SelfAttention(config, layer, part)
        self.mlp = GatedMLP(config, part)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.residual_scale = config.residual_scale

    def forward(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None = None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        """One layer of `Transformer.forward`; deltas: of its own products, `QKV` to `DOWN`."""
        attended = self.self_attn(self.input_layernorm(x), rope, attention, keep, deltas)
        x = torch.add(x if keep is None else x[..., keep, :], attended, alpha=self.residual_scale)
        mlp = self.mlp(self.post_attention_layernorm(x), deltas)
        return torch.add(x, mlp, alpha=self.residual_scale)


class Transformer(nn.Module):
    """A stack of layers and a final norm, with its own token embedding when `config.vocab_size` is set.

    `first_layer` is the number its layers go by in the attention callable, so that two stacks can
    share one KV pool. `part` is what a rank has of every layer; hidden states are whole on all ranks.
    `whole_embedding`: so is the token embedding, where no head shares its parts.
    """

    run: Run | None = None
    """Takes the place of `forward` where there is a faster form of it."""

    def __init__(
        self,
        config: StackShape,
        first_layer: int = 0,
        part: Part = WHOLE,
        whole_embedding: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        if config.vocab_size:
            table = WHOLE if whole_embedding else part
            self.embed_tokens = token_embedding(table, config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            TransformerLayer(config, first_layer + i, part) for i in range(config.num_hidden_layers)
        )
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rope = config.rotary()

    def cos_sin(self, positions: Tensor) -> CosSin | None:
        """Rotary factors of `positions` [T], or None for a stack without rotary embedding."""
        return None if self.rope is None else self.rope.cos_sin(positions)

    def forward(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None = None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        """x [..., L, hidden] -> the same shape, or only the tokens of `keep`, for which the last layer
        then leaves out what nobody reads. deltas: of all products of all layers, see `adapted.py`."""
        if self.run is not None:
            return self.run(x, rope, attention, keep, *((deltas,) if deltas.rows else ()))
        return self.norm(through_layers(self.layers, x, rope, attention, keep, deltas))


def through_layers(
    layers: Iterable[nn.Module],
    x: Tensor,
    rope: CosSin | None,
    attention: Attention,
    keep: Keep | None,
    deltas: Deltas,
) -> Tensor:
    """x after all layers; only the last one may leave tokens out."""
    *body, last = layers
    for place, layer in enumerate(body):
        x = layer(x, rope, attention, None, of_layer(deltas, place))
    return last(x, rope, attention, keep, of_layer(deltas, len(body)))


def _cut_heads(heads: range, total: int, head_dim: int) -> Cut:
    """The rows of `heads` in a projection to `total` heads."""
    return Cut(0, heads.start * head_dim, heads.stop * head_dim, total * head_dim)


def kept_places(attended: Tensor, keep: Keep | None) -> Tensor:
    """The rows of a flat batch's attention [T, C] that are read: those at `keep`, or all."""
    return attended[keep] if isinstance(keep, Tensor) else attended


def of_layer(deltas: Deltas, place: int) -> Deltas:
    """The deltas of the products of one layer of a stack."""
    first, end = 2 * PRODUCTS * place, 2 * PRODUCTS * (place + 1)
    return Deltas(deltas.rows, [weights[first:end] for weights in deltas.weights]) if deltas.rows else deltas
