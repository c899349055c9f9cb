"""Low-rank matrices that nothing was learnt into yet."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from engine.layers.low_rank import LowRank
from models.transformer.adapted import Size


def fresh_layers(sizes: Mapping[str, Size], rank: int, seed: int, device: torch.device) -> dict[str, LowRank]:
    """Parameters of layers of these sizes.

    `down` is drawn as the published package draws it, kaiming_uniform of slope sqrt(5); `up` is zero, so that
    nothing changes yet.
    """
    generator = torch.Generator().manual_seed(seed)

    def parameter(values: Tensor) -> nn.Parameter:
        return nn.Parameter(values.to(device))

    layers: dict[str, LowRank] = {}
    for name, (height, width) in sizes.items():
        bound = 1 / math.sqrt(width)
        down = torch.empty(rank, width).uniform_(-bound, bound, generator=generator)
        layers[name] = LowRank(parameter(down), parameter(torch.zeros(height, rank)))
    return layers
