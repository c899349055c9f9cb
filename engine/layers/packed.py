"""Layers laid out for inference on a CPU: the same arithmetic in fewer and faster calls.

At a few rows per call a CPU spends its time fetching weights and calling operators. oneDNN's blocked
weight layout makes products of 1 to 100 rows two to three times faster than `F.linear` (measured on an
AMD EPYC 9004, fp32, weights of 256 x 256 to 768 x 1536), and a norm whose constants are folded takes
half the operators.

    pack_layers(model)       # inference only: packed weights cannot be trained or exported

Weights in bf16 are read in half the time. Sums stay fp32 inside a product, its input and output are rounded
to bf16, and everything between products stays fp32.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from engine.cpu.scripting import scripted
from engine.cpu.threads import OneThreadLinear
from engine.errors import OptionsError
from engine.layers.linear import TiedLinear
from engine.layers.norm import RMSNorm

MIN_WEIGHT_ELEMENTS = 16384
"""Below this a plain product is as fast."""
CPU_WEIGHTS = ("auto", "float32", "bfloat16")


def packing_available() -> bool:
    """Whether this build of PyTorch has oneDNN's packed linear kernels."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def multiplies_bf16() -> bool:
    """Whether this processor has instructions for products of bf16 (AVX-512 bf16 or AMX)."""
    return packing_available() and torch.cpu._is_avx512_bf16_supported()


def weight_dtype(wanted: str, stored: str) -> torch.dtype:
    """In which precision a CPU keeps packed weights.

    wanted: "float32", "bfloat16", or "auto", which is bf16 where the checkpoint has it (`stored`, as its
    configuration says) and the processor multiplies it. Raises OptionsError for another word.
    """
    if wanted not in CPU_WEIGHTS:
        raise OptionsError(f"cpu_weights must be one of {', '.join(CPU_WEIGHTS)}, got {wanted!r}")
    halved = wanted == "bfloat16" or (wanted == "auto" and stored == "bfloat16" and multiplies_bf16())
    return torch.bfloat16 if halved else torch.float32


@scripted
def packed_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [..., in_features] W^T + b -> [..., out_features] in x's precision, with W in oneDNN's layout."""
    scalars: list[number | None] = []  # noqa: F821
    if weight.dtype == x.dtype:
        return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", scalars, "")
    rounded = x.to(weight.dtype)
    return torch.ops.mkldnn._linear_pointwise(rounded, weight, bias, "none", scalars, "").to(x.dtype)


@scripted
def packed_sum(residual: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """residual + x W^T, with W in oneDNN's layout."""
    if weight.dtype != residual.dtype:
        return residual + packed_product(x, weight, None)
    return torch.ops.mkldnn._linear_pointwise(x, residual, weight, None, "add")


class PackedLinear(nn.Module):
    """y = x W^T + b with W in oneDNN's layout, in `dtype`. The original weight is not kept."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.packed = pack(weight, dtype)
        self.bias = None if bias is None else bias.detach().to(dtype)

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


def pack(weight: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A weight [out_features, in_features] in oneDNN's layout, which only products can read."""
    return torch.ops.mkldnn._reorder_linear_weight(weight.detach().to(dtype).contiguous(), None)


def packed_linear(
    weight: Tensor, bias: Tensor | None, dtype: torch.dtype = torch.float32
) -> PackedLinear | None:
    """The packed form of a product, or None where packing does not apply or does not pay."""
    fits = _fits(weight) and packing_available()
    return PackedLinear(weight, bias, dtype) if fits and weight.numel() >= MIN_WEIGHT_ELEMENTS else None


def pack_layers(module: nn.Module, dtype: torch.dtype = torch.float32) -> None:
    """Replace linear layers and norms below `module` by packed ones, in place, where that applies.

    dtype: of the packed weights, see `weight_dtype`.
    """
    for name, child in module.named_children():
        packed: nn.Module | None = None
        if isinstance(child, nn.Linear):
            packed = packed_linear(child.weight, child.bias, dtype)
            if packed is None and _fits(child.weight):
                packed = OneThreadLinear(child)
        elif isinstance(child, TiedLinear):
            packed = packed_linear(child.weight, None, dtype)  # a copy: the embedding needs the plain one
        elif isinstance(child, RMSNorm) and _fits(child.weight):
            packed = PackedRMSNorm(child)
        else:
            pack_layers(child, dtype)
        if packed is not None:
            setattr(module, name, packed)


def _fits(weight: Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype is torch.float32
