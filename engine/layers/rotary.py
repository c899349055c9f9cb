"""Rotary position embedding, rotate-half layout, plain or scaled for long texts (LongRoPE, YaRN).

The angle of position p and frequency i is `p / factor[i] * inverse[i]`, and both halves of a head share it.
No table is kept: a step computes the few rows it needs and shares them between all its layers, so no memory
depends on the longest position. Frequencies stay fp32 whatever dtype the model is cast to; a model cast to
bf16 would otherwise place position 300 at 300 or 302.

    cos, sin = rope.cos_sin(positions)                  # once per step
    q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


def base_frequencies(head_dim: int, base: float) -> Tensor:
    """`base ** (-2i / head_dim)`, fp32 [head_dim / 2], on the CPU.

    Raises:
        ValueError: an odd `head_dim`.
    """
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, got {head_dim}")
    exponent = torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim
    return 1.0 / base**exponent


class Rotary(nn.Module):
    """Cosines and sines of positions.

    Args:
        inverse: angle per position of each frequency, fp32 [head_dim / 2], on the CPU.
        factor: divides positions, frequency by frequency; None: by 1.
        scale: of cosines and sines.
    """

    def __init__(self, inverse: Tensor, factor: Sequence[float] | None = None, scale: float = 1.0) -> None:
        super().__init__()
        self.head_dim, self.scale = 2 * len(inverse), scale
        divisors = torch.ones_like(inverse)
        if factor is not None:
            divisors = torch.tensor(factor, dtype=torch.float32, device="cpu")
        signed = torch.full_like(inverse, scale)
        rows = ((1.0 / divisors,) * 2, (inverse, inverse), (-signed, signed))
        self._rows = torch.stack([torch.cat(row) for row in rows])
        """[3, head_dim] fp32: reciprocal factors, inverse frequencies, scale with the sign of rotate-half."""
        self.frequencies: Tensor
        self.register_buffer("frequencies", self._rows.clone(), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Rotary:
        super()._apply(fn, recurse)
        self.frequencies = self._rows.to(self.frequencies.device)
        return self

    def cos_sin(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines of `positions` [T] (any integer dtype), each fp32 [T, 1, head_dim].

        The first half of the sines is negated, the form that `apply_rotary` takes.
        """
        reciprocal, inverse, signed_scale = self.frequencies
        angles = (positions[:, None, None] * reciprocal).mul_(inverse)
        return angles.cos().mul_(self.scale), angles.sin().mul_(signed_scale)


class LongRope(Rotary):
    """LongRoPE (arXiv:2402.13753).

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
        inverse = base_frequencies(head_dim, base)
        for name, factor in (("short_factor", short_factor), ("long_factor", long_factor)):
            if len(factor) != head_dim // 2:
                raise ValueError(
                    f"{name} has {len(factor)} values, head_dim {head_dim} needs {head_dim // 2}"
                )
        factor = long_factor if max_position > original_max_position else short_factor
        longer = math.log(max_position / original_max_position) / math.log(original_max_position)
        super().__init__(inverse, factor, math.sqrt(1 + longer))


class YarnRope(Rotary):
    """YaRN (arXiv:2309.00071, sections 3.2 to 3.4): low frequencies are slowed down, high ones stay.

    Args:
        head_dim, base: as of `LongRope`.
        factor: how many times the length the model was trained for.
        original_max_position: that length.
        beta_fast, beta_slow: turns within that length; a frequency with more than the one stays, one with
            fewer than the other is slowed down by `factor`, and between them the two are mixed.
        attention_factor: of cosines and sines; None: 0.1 ln(factor) + 1.
    """

    def __init__(
        self,
        head_dim: int,
        base: float,
        factor: float,
        original_max_position: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        attention_factor: float | None = None,
    ) -> None:
        inverse = base_frequencies(head_dim, base)

        def index_of(turns: float) -> float:
            """The frequency that turns so often within the original length."""
            return head_dim * math.log(original_max_position / (turns * 2 * math.pi)) / (2 * math.log(base))

        low = max(math.floor(index_of(beta_fast)), 0)
        high = min(math.ceil(index_of(beta_slow)), head_dim - 1)
        steps = torch.arange(head_dim // 2, dtype=torch.float32, device="cpu") - low
        slowed = (steps / max(high - low, 0.001)).clamp(0, 1)
        stays = 1 - slowed
        scale = 0.1 * math.log(factor) + 1.0 if factor > 1 else 1.0
        chosen = scale if attention_factor is None else attention_factor
        super().__init__(inverse / factor * slowed + inverse * stays, scale=chosen)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates `x` [..., T, H, head_dim] by the angles of `cos_sin`; fp32 inside, dtype of `x` out."""
    wide = x.float()
    rotated = torch.addcmul(wide * cos, wide.roll(x.shape[-1] // 2, -1), sin)
    return rotated.to(x.dtype)
