"""Several linear layers of one input, computed as one matrix product.

A checkpoint stores `q_proj`, `k_proj` and `v_proj` apart; one product over the stacked weight is faster, on a
CPU because there are fewer calls and on a GPU because a larger matrix streams better. The layer declares
which rows belong to which released name, and `engine.weights` uses that to load and to export:

    self.qkv_proj = MergedLinear(512, {"q_proj": 512, "k_proj": 128, "v_proj": 128})
    # in a module at `layers.0.self_attn`, filled from layers.0.self_attn.{q,k,v}_proj.weight
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional as F

from engine.parallel.part import Cut


class MergedLinear(nn.Linear):
    """`nn.Linear` whose output rows are the outputs of several released linear layers.

    Args:
        in_features: size of the shared input.
        parts: released name -> its output size, in the order of the output.
        bias: whether every part has a bias.

    Attributes:
        slices: released name -> its slice of the output.
        cuts: released name -> which part of it this is; empty where it is the whole.
    """

    def __init__(self, in_features: int, parts: Mapping[str, int], bias: bool = False) -> None:
        super().__init__(in_features, sum(parts.values()), bias=bias)
        self.slices: dict[str, slice] = {}
        self.cuts: dict[str, Cut] = {}
        start = 0
        for name, size in parts.items():
            self.slices[name] = slice(start, start + size)
            start += size


class TiedLinear(nn.Module):
    """A head whose weight is that of an embedding, its owner: x [..., H] -> [..., num_embeddings]."""

    def __init__(self, table: nn.Embedding) -> None:
        super().__init__()
        self._owner = (table,)  # a module's attribute would give the weight a second name

    @property
    def weight(self) -> Tensor:
        return self._owner[0].weight

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)
