"""Linear layers and embeddings of which a rank has a part; for `WHOLE` they are the ordinary ones.

A layer's weights may be divided by outputs (columns of the product: every rank has other outputs of the same
input) or by inputs (rows: every rank has a share of the sum, and the shares are added up). `cuts` says which
part of a released tensor a layer has, by which `engine.weights` loads it and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.layers.embedding import embedding
from engine.layers.linear import MergedLinear
from engine.parallel.group import Group
from engine.parallel.part import Cut, Part


def columns(in_features: int, cuts: Mapping[str, Cut]) -> MergedLinear:
    """A layer of several released ones, of each of which this rank has the rows of a cut."""
    layer = MergedLinear(in_features, {name: cut.size for name, cut in cuts.items()})
    layer.cuts = dict(cuts)
    return layer


def rows(part: Part, cut: Cut, out_features: int) -> nn.Linear | RowParallelLinear:
    """A layer of whose inputs this rank has those of `cut`; its output is that of the whole layer."""
    if part.size == 1:
        return nn.Linear(cut.size, out_features, bias=False)
    return RowParallelLinear(part, cut, out_features)


def token_embedding(part: Part, num_embeddings: int, size: int) -> nn.Embedding | VocabularyEmbedding:
    """Rows of an embedding table."""
    if part.size == 1:
        return embedding(num_embeddings, size)
    return VocabularyEmbedding(part, num_embeddings, size)


def head(part: Part, in_features: int, vocab_size: int) -> nn.Linear:
    """Logits of this rank's part of the vocabulary."""
    cut = part.cut(vocab_size, "vocab_size")
    layer = nn.Linear(in_features, cut.size, bias=False)
    layer.cuts = {"weight": cut}
    return layer


class RowParallelLinear(nn.Module):
    """x [..., this rank's inputs] -> [..., out_features], summed over all ranks."""

    def __init__(self, part: Part, cut: Cut, out_features: int) -> None:
        super().__init__()
        self.group = part.group
        self.weight = nn.Parameter(torch.empty(out_features, cut.size))
        self.cuts = {"weight": cut._replace(dim=1)}

    def forward(self, x: Tensor) -> Tensor:
        return self.group.all_reduce(F.linear(x, self.weight))


class VocabularyEmbedding(nn.Module):
    """Token ids of the whole vocabulary -> their embeddings, of which each rank knows its own."""

    def __init__(self, part: Part, num_embeddings: int, size: int) -> None:
        super().__init__()
        cut = part.cut(num_embeddings, "vocab_size")
        self.group, self._first, self._count = part.group, cut.begin, cut.size
        self.weight = nn.Parameter(torch.empty(cut.size, size))
        self.cuts = {"weight": cut}

    def forward(self, token_ids: Tensor) -> Tensor:
        """int64 [T] -> [T, size]."""
        own = token_ids - self._first
        known = (own >= 0) & (own < self._count)
        found = F.embedding(torch.where(known, own, 0), self.weight)
        return self.group.all_reduce(found.masked_fill_(~known[..., None], 0.0))


def group_of(layer: nn.Module) -> Group | None:
    """The ranks over which the outputs of a layer have to be added up; None for a whole layer."""
    return getattr(layer, "group", None)
