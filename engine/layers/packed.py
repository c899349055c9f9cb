"""Layers laid out for inference on a CPU: the same arithmetic in fewer and faster calls.

At a few rows per call a CPU spends its time fetching weights and calling operators. oneDNN's blocked
weight layout makes products of 1 to 100 rows two to three times faster than `F.linear` (measured on an
AMD EPYC 9004, fp32, weights of 256 x 256 to 768 x 1536), and a norm whose constants are folded takes
half the operators.

    pack_layers(model)       # inference only: packed weights cannot be trained or exported
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from engine.layers.linear import TiedLinear
from engine.layers.norm import RMSNorm
from engine.scripting import scripted
from engine.threads import OneThreadLinear

MIN_WEIGHT_ELEMENTS = 16384
"""Below this a plain product is as fast."""


def packing_available() -> bool:
    """Whether this build of PyTorch has oneDNN's packed linear kernels."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@scripted
def packed_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [..., in_features] W^T + b -> [..., out_features], with W in oneDNN's layout."""
    scalars: list[number | None] = []  # noqa: F821
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", scalars, "")


@scripted
def packed_sum(residual: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """residual + x W^T, with W in oneDNN's layout."""
    return torch.ops.mkldnn._linear_pointwise(x, residual, weight, None, "add")


class PackedLinear(nn.Module):
    """y = x W^T + b with W in oneDNN's layout. The original weight is not kept."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        self.bias = None if bias is None else bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] -> [..., out_features]."""
        return packed_product(x, self.packed, self.bias)


class PackedRMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight as x / hypot(|x|, sqrt(n eps)) * (sqrt(n) weight)."""

    def __init__(self, norm: RMSNorm) -> None:
        super().__init__()
        size = norm.hidden_size
        self.register_buffer("weight", norm.weight.detach() * math.sqrt(size), persistent=False)
        self.register_buffer("floor", torch.tensor(math.sqrt(size * norm.eps)), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Normalises `x` [..., hidden_size]."""
        return torch.div(x, torch.linalg.vector_norm(x, dim=-1, keepdim=True).hypot_(self.floor)).mul_(
            self.weight
        )


def packed_linear(weight: Tensor, bias: Tensor | None) -> PackedLinear | None:
    """The packed form of a product, or None where packing does not apply or does not pay."""
    fits = _fits(weight) and packing_available()
    return PackedLinear(weight, bias) if fits and weight.numel() >= MIN_WEIGHT_ELEMENTS else None


def pack_layers(module: nn.Module) -> None:
    """Replace linear layers and norms below `module` by packed ones, in place, where that applies."""
    for name, child in module.named_children():
        packed: nn.Module | None = None
        if isinstance(child, nn.Linear):
            packed = packed_linear(child.weight, child.bias)
            if packed is None and _fits(child.weight):
                packed = OneThreadLinear(child)
        elif isinstance(child, TiedLinear):
            packed = packed_linear(child.weight, None)  # a copy: the embedding needs the plain one
        elif isinstance(child, RMSNorm) and _fits(child.weight):
            packed = PackedRMSNorm(child)
        else:
            pack_layers(child)
        if packed is not None:
            setattr(module, name, packed)


def _fits(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype is torch.float32
