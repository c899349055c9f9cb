"""Rotary position embedding with the LongRoPE frequency factors (arXiv:2402.13753), rotate-half layout.

The angle of position p and frequency i is `p / factor[i] * base ** (-2i / head_dim)`, and both halves of a
head share it. No table is kept: a step computes the few rows it needs and shares them between all its layers,
so no memory depends on the longest position. Frequencies stay fp32 whatever dtype the model is cast to; a
model cast to bf16 would otherwise place position 300 at 300 or 302.

    cos, sin = rope.cos_sin(positions)                  # once per step
    q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


class LongRope(nn.Module):
    """Cosines and sines of LongRoPE.

    Args:
        head_dim: size of one attention head, even.
        base: `rope_theta`.
        max_position: `max_position_embeddings`; when above `original_max_position`, the long factors apply.
        original_max_position: length the model was first trained for.
        short_factor, long_factor: one divisor per frequency, `head_dim / 2` values each.

    Raises:
        ValueError: a factor list of the wrong length or an odd `head_dim`.
    """

    def __init__(
        self,
        head_dim: int,
        base: float,
        max_position: int,
        original_max_position: int,
        short_factor: Sequence[float],
        long_factor: Sequence[float],
    ) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"head_dim must be even, got {head_dim}")
        for name, factor in (("short_factor", short_factor), ("long_factor", long_factor)):
            if len(factor) != head_dim // 2:
                raise ValueError(
                    f"{name} has {len(factor)} values, head_dim {head_dim} needs {head_dim // 2}"
                )
        self.head_dim = head_dim
        self.base = base
        self.factor = tuple(long_factor if max_position > original_max_position else short_factor)
        self.scale = math.sqrt(
            1 + math.log(max_position / original_max_position) / math.log(original_max_position)
        )
        self.frequencies: Tensor
        self.register_buffer("frequencies", self._build(torch.device("cpu")), persistent=False)

    def _build(self, device: torch.device) -> Tensor:
        """[3, head_dim] fp32: reciprocal factors, inverse frequencies, scale with the sign of rotate-half."""
        factor = torch.tensor(self.factor, dtype=torch.float32, device="cpu")
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float32, device="cpu") / self.head_dim
        scale = torch.full_like(factor, self.scale)
        rows = ((1.0 / factor, 1.0 / factor), (1.0 / self.base**exponent,) * 2, (-scale, scale))
        return torch.stack([torch.cat(row) for row in rows]).to(device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> LongRope:
        super()._apply(fn, recurse)
        self.frequencies = self._build(self.frequencies.device)
        return self

    def cos_sin(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines of `positions` [T] (any integer dtype), each fp32 [T, 1, head_dim].

        The first half of the sines is negated, the form that `apply_rotary` takes.
        """
        reciprocal, inverse, signed_scale = self.frequencies
        angles = (positions[:, None, None] * reciprocal).mul_(inverse)
        return angles.cos().mul_(self.scale), angles.sin().mul_(signed_scale)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates `x` [..., T, H, head_dim] by the angles of `cos_sin`; fp32 inside, dtype of `x` out."""
    wide = x.float()
    rotated = torch.addcmul(wide * cos, wide.roll(x.shape[-1] // 2, -1), sin)
    return rotated.to(x.dtype)
