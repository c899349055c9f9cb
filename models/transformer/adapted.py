"""What an adapter adds to a stack: from the released layers it was trained for to the products computed here.

A checkpoint has `q_proj`, `k_proj` and `v_proj`; a stack computes them as one product. Three low-rank pieces
become one, whose `down` are those of the parts below each other, and whose `up` has a block for each part:

    weights = stack_weights(model.base_lm, {"layers.0.self_attn.q_proj": LowRank(down, up)})
    hidden = model.base_lm(x, rope, attention, deltas=Deltas([None], [weights]))
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.layers.low_rank import LowRank
from models.transformer.stack import StackShape, Transformer

Size = tuple[int, int]
"""(out_features, in_features) of a linear layer."""


def stack_sizes(shape: StackShape, prefix: str = "") -> dict[str, Size]:
    """Released name -> size of every linear layer of a stack."""
    return {
        f"{prefix}layers.{place}.{name}": size
        for place in range(shape.num_hidden_layers)
        for parts in product_parts(shape)
        for name, size in parts.items()
    }


def product_parts(shape: StackShape) -> tuple[dict[str, Size], ...]:
    """For each product of a layer (`stack.QKV` to `stack.DOWN`) the released layers that it is made of."""
    hidden, mlp = shape.hidden_size, shape.intermediate_size
    q_size, kv_size = (
        heads * shape.head_dim for heads in (shape.num_attention_heads, shape.num_key_value_heads)
    )
    return (
        {
            "self_attn.q_proj": (q_size, hidden),
            "self_attn.k_proj": (kv_size, hidden),
            "self_attn.v_proj": (kv_size, hidden),
        },
        {"self_attn.o_proj": (hidden, q_size)},
        {"mlp.gate_proj": (mlp, hidden), "mlp.up_proj": (mlp, hidden)},
        {"mlp.down_proj": (hidden, mlp)},
    )


def stack_weights(stack: Transformer, pieces: Mapping[str, LowRank]) -> list[Tensor]:
    """`Deltas.weights` of one adapter for a stack in the form it has: 8 tensors per layer.

    pieces: by released name below the stack. Gradients flow back to them.
    """
    like, weights = stack.norm.weight, []
    parts = product_parts(stack.config)
    for place, layer in enumerate(stack.layers):
        factors = getattr(layer, "input_factors", {})
        for number, sizes in enumerate(parts):
            found = {name: pieces.get(f"layers.{place}.{name}") for name in sizes}
            down, up = _joined(sizes, found, like)
            factor = factors.get(number)
            weights += [down if factor is None else down * factor, up]
    return weights


def _joined(sizes: Mapping[str, Size], pieces: Mapping[str, LowRank | None], like: Tensor) -> LowRank:
    total, width = sum(size[0] for size in sizes.values()), next(iter(sizes.values()))[1]
    downs, ups, before = [like.new_zeros(0, width)], [like.new_zeros(total, 0)], 0
    for name, (height, _) in sizes.items():
        piece = pieces[name]
        if piece is not None:
            downs.append(piece.down.to(like))
            ups.append(F.pad(piece.up.to(like), (0, 0, before, total - before - height)))
        before += height
    return LowRank(torch.cat(downs), torch.cat(ups, dim=1))
