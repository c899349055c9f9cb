"""Products of a few rows more than there are."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.kernels.linear import spare_rows
from engine.kernels.linear.spare_rows import add_linear_, empty_with_spare, faster_rows, linear

OUTPUTS, INPUTS = 7, 5
WEIGHT = torch.randn(OUTPUTS, INPUTS)
TOLD = spare_rows.FASTER_ROWS


@pytest.fixture(autouse=True)
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products with the weight are of 8 rows where there are 6, those of other layers of 9."""
    monkeypatch.setattr(spare_rows, "FASTER_ROWS", {(OUTPUTS, INPUTS): {6: 8}, (3, 3): {6: 9}})


def with_spare(*shape: int) -> Tensor:
    return empty_with_spare(shape, WEIGHT).copy_(torch.randn(shape))


def rows_held(x: Tensor) -> int:
    return x.untyped_storage().nbytes() // (x.element_size() * x.shape[-1])


def test_rows_have_as_many_to_spare_as_any_product_of_theirs_wants() -> None:
    x = with_spare(2, 3, INPUTS)
    assert x.shape == (2, 3, INPUTS) and x.is_contiguous() and rows_held(x) == 9
    assert rows_held(with_spare(7, INPUTS)) == 7


def test_a_product_has_the_rows_that_are_faster() -> None:
    x = with_spare(2, 3, INPUTS)
    y = linear(x, WEIGHT)
    torch.testing.assert_close(y, F.linear(x, WEIGHT))
    assert rows_held(y) == faster_rows(6, WEIGHT) == 8 and y.is_contiguous()


@pytest.mark.parametrize("x", [torch.randn(6, INPUTS), torch.randn(INPUTS, 9).T[:6]], ids=["full", "turned"])
def test_a_product_has_its_own_rows_where_there_are_none_to_spare(x: Tensor) -> None:
    y = linear(x, WEIGHT)
    torch.testing.assert_close(y, F.linear(x, WEIGHT))
    assert rows_held(y) == 6


@pytest.mark.parametrize("spare", [True, False])
def test_a_product_is_added_in_place_to_its_rows_alone(spare: bool) -> None:
    y = with_spare(6, OUTPUTS)
    behind = torch.randn(7, OUTPUTS)
    if not spare:
        y = behind[:6].copy_(y)
    x, before, last = with_spare(6, INPUTS), y.clone(), behind[6].clone()
    add_linear_(y, x, WEIGHT, 0.5)
    torch.testing.assert_close(y, before + 0.5 * F.linear(x, WEIGHT))
    assert torch.equal(behind[6], last)


def test_what_is_told_to_be_faster_is_not_much_more() -> None:
    assert TOLD and all(rows < more <= rows + 104 for of in TOLD.values() for rows, more in of.items())
