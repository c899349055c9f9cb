"""Embedding tables."""

from __future__ import annotations

import torch
from torch import nn


def embedding(num_embeddings: int, size: int) -> nn.Embedding:
    """`torch.nn.Embedding(num_embeddings, size)` that draws nothing at random where there is nothing to fill.

    On the meta device that would import PyTorch's compiler, which takes longer than all else that a small
    model needs to start.
    """
    weight = torch.empty(num_embeddings, size)
    if weight.is_meta:
        return nn.Embedding.from_pretrained(weight, freeze=False)
    return nn.Embedding(num_embeddings, size)
