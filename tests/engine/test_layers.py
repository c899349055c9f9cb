"""Layers against their formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from engine.layers.linear import MergedLinear
from engine.layers.norm import RMSNorm
from engine.layers.rotary import LongRope, apply_rotary

SHORT, LONG = [1.0, 1.3, 2.0, 5.5], [1.1, 2.6, 4.0, 9.0]


def rms_reference(x: torch.Tensor, norm: RMSNorm) -> torch.Tensor:
    x = x.double()
    return x / (x.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight.double()


@pytest.mark.parametrize("shape", [(1, 48), (7, 48), (2, 3, 48), (0, 48)])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("grad", [False, True])
def test_rms_norm_equals_its_formula(shape: tuple[int, ...], scale: float, grad: bool) -> None:
    torch.manual_seed(0)
    norm = RMSNorm(48, eps=1e-5)
    nn.init.normal_(norm.weight)
    x = torch.randn(shape) * scale
    before = x.clone()
    with torch.set_grad_enabled(grad):
        y = norm(x)
    torch.testing.assert_close(y.double(), rms_reference(x, norm), atol=1e-6, rtol=1e-6)
    assert torch.equal(x, before) and y.requires_grad == grad


def test_rms_norm_accumulates_half_precision_in_fp32() -> None:
    torch.manual_seed(0)
    norm = RMSNorm(2048).bfloat16()
    x = (torch.randn(3, 2048) + 100).bfloat16()
    y = norm(x)
    assert y.dtype is torch.bfloat16
    torch.testing.assert_close(y.double(), rms_reference(x, norm), atol=0, rtol=2**-8)


def rope(max_position: int = 64, original: int = 64) -> LongRope:
    return LongRope(8, 10000.0, max_position, original, SHORT, LONG)


@pytest.mark.parametrize(("max_position", "factors"), [(64, SHORT), (32, SHORT), (256, LONG)])
def test_rotation_equals_the_complex_form(max_position: int, factors: list[float]) -> None:
    """Dimension i and i + D/2 are one complex number, turned by p / factor * base^(-2i/D) and scaled."""
    torch.manual_seed(0)
    scale = math.sqrt(1 + math.log(max_position / 64) / math.log(64))
    positions = [0, 1, 5, 63]
    x = torch.randn(4, 3, 8)
    rotated = apply_rotary(x, *rope(max_position).cos_sin(torch.tensor(positions)))
    for row, position in enumerate(positions):
        for i, factor in enumerate(factors):
            turn = torch.polar(
                torch.tensor(scale).double(), torch.tensor(position / factor * 10000 ** (-i / 4)).double()
            )
            z = torch.complex(x[row, :, i].double(), x[row, :, i + 4].double()) * turn
            torch.testing.assert_close(rotated[row, :, i].double(), z.real, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(rotated[row, :, i + 4].double(), z.imag, atol=1e-5, rtol=1e-5)


def test_rotation_broadcasts_over_batches_and_position_dtypes() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 3, 8)
    for dtype in (torch.int32, torch.int64):
        cos, sin = rope().cos_sin(torch.arange(5, dtype=dtype))
        assert cos.shape == sin.shape == (5, 1, 8) and cos.dtype is torch.float32
        assert torch.equal(apply_rotary(x, cos, sin)[1], apply_rotary(x[1], cos, sin))


def test_scores_depend_on_distance_alone() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 8).expand(50, 1, 8), torch.randn(1, 1, 8).expand(50, 1, 8)
    cos, sin = rope().cos_sin(torch.arange(50))
    scores = (apply_rotary(q, cos, sin)[10:, 0] * apply_rotary(k, cos, sin)[:-10, 0]).sum(-1)
    torch.testing.assert_close(scores, scores[:1].expand(40), atol=1e-5, rtol=1e-5)


def test_a_cast_model_keeps_exact_angles() -> None:
    positions = torch.tensor([0, 301, 30000])
    exact = rope().cos_sin(positions)
    model = nn.ModuleList([rope()])
    for cast in (model.bfloat16(), model.half(), model.to(torch.float64)):
        assert all(torch.equal(a, b) for a, b in zip(exact, cast[0].cos_sin(positions), strict=True))
    with torch.device("meta"):
        empty = rope()
    assert torch.equal(empty.to_empty(device="cpu").cos_sin(positions)[0], exact[0])
    assert not model.state_dict()


def test_half_precision_heads_are_rotated_in_fp32() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 2, 8).bfloat16()
    cos, sin = rope().cos_sin(torch.arange(4))
    rotated = apply_rotary(x, cos, sin)
    assert torch.equal(rotated, apply_rotary(x.float(), cos, sin).bfloat16())


def test_wrong_factor_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="short_factor has 3 values, head_dim 8 needs 4"):
        LongRope(8, 10000.0, 64, 64, [1.0] * 3, LONG)
    with pytest.raises(ValueError, match="must be even"):
        LongRope(7, 10000.0, 64, 64, SHORT, LONG)


@pytest.mark.parametrize("bias", [False, True])
def test_a_merged_linear_is_its_parts_side_by_side(bias: bool) -> None:
    torch.manual_seed(0)
    merged = MergedLinear(6, {"q_proj": 4, "k_proj": 2, "v_proj": 3}, bias=bias)
    x = torch.randn(5, 6)
    for name, rows in merged.slices.items():
        alone = nn.functional.linear(x, merged.weight[rows], merged.bias[rows] if bias else None)
        torch.testing.assert_close(merged(x)[:, rows], alone, msg=name)
    assert merged.slices == {"q_proj": slice(0, 4), "k_proj": slice(4, 6), "v_proj": slice(6, 9)}
