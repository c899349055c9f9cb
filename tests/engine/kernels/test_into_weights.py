"""Adapters in the weights themselves, in Triton's interpreter, against plain products."""

from __future__ import annotations

import pytest
import torch

from engine.kernels.low_rank.into_weights import (
    WeightPart,
    WeightParts,
    add_into_weights,
    restore_weights,
)

ODD, ALIGNED = [(70, 130), (16, 64), (200, 24)], [(64, 160), (208, 32)]
RANK = 16
Sizes = list[tuple[int, int]]


def parts_of(dtype: torch.dtype, sizes: Sizes = ODD) -> tuple[list[WeightPart], torch.Tensor]:
    """Parts of a type whose matrices lie one behind the other, and the fp32 row that holds them."""
    torch.manual_seed(0)
    parts, begin = [], 16
    for outputs, inputs in sizes:
        base = torch.randn(outputs, inputs).to(dtype)
        up = begin + RANK * inputs
        parts.append(WeightPart(base.clone(), base, begin, up))
        begin = up + RANK * outputs
    return parts, torch.randn(begin)


def product(part: WeightPart, row: torch.Tensor) -> torch.Tensor:
    outputs, inputs = part.weight.shape
    down = row[part.down : part.down + RANK * inputs].view(RANK, inputs)
    return row[part.up : part.up + RANK * outputs].view(outputs, RANK) @ down


@pytest.mark.parametrize("sizes", [ODD, ALIGNED], ids=["odd", "aligned"])
def test_weights_have_what_adds_to_them_and_are_restored_in_every_bit(sizes: Sizes) -> None:
    parts, row = parts_of(torch.float32, sizes)
    laid = WeightParts(parts, RANK)
    assert laid.aligned == (sizes is ALIGNED)
    add_into_weights(laid, row)
    for part in parts:
        torch.testing.assert_close(part.weight, part.base + product(part, row), rtol=1e-5, atol=1e-5)
    restore_weights(laid)
    assert all(torch.equal(part.weight, part.base) for part in parts)


def test_what_is_less_than_half_of_the_next_value_is_not_lost() -> None:
    """Each weight is one of its two neighbours, and what is added is there in the mean."""
    parts, row = parts_of(torch.bfloat16)
    row *= 2**-6
    laid = WeightParts(parts, RANK)
    add_into_weights(laid, row)
    once = [part.weight.clone() for part in parts]
    for part in parts:
        exact = part.base.float() + product(part, row)
        step = 2.0 ** (exact.abs().log2().floor() - 7)
        assert ((part.weight.float() - exact).abs() < step).all()
    part = parts[0]
    wanted, found = product(part, row), part.weight.float() - part.base.float()
    nearest = (part.base.float() + wanted).bfloat16().float() - part.base.float()
    share, lost = ((kept * wanted).sum() / wanted.square().sum() for kept in (found, nearest))
    assert abs(share - 1) < 0.1 < abs(lost - 1)
    add_into_weights(laid, row)
    assert all(torch.equal(part.weight, kept) for part, kept in zip(parts, once, strict=True))


def test_weights_to_which_nothing_is_added_keep_every_bit() -> None:
    parts, row = parts_of(torch.bfloat16)
    add_into_weights(WeightParts(parts, RANK), torch.zeros_like(row))
    assert all(torch.equal(part.weight, part.base) for part in parts)
