"""The fused linear layers compute what they take the place of, with its very weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from engine.kernels.linear import split_linear
from engine.kernels.linear.split_tiling import FEW_ROWS
from models.voxcpm.fused import linear
from models.voxcpm.fused.linear import FusedLinear, fuse_linears
from models.voxcpm.model import ScalarQuantization


class _Counted:
    """`split_linear`, counted."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *inputs: torch.Tensor, **options: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return split_linear.split_linear(*inputs, **options)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> _Counted:
    counted = _Counted()
    monkeypatch.setattr(linear, "split_linear", counted)
    return counted


@pytest.mark.parametrize(("rows", "few"), [(1, True), (5, True), (FEW_ROWS, True), (FEW_ROWS + 1, False)])
@pytest.mark.parametrize("bias", [True, False])
@torch.inference_mode()
def test_few_rows_take_the_form_for_few_rows(rows: int, few: bool, bias: bool, counted: _Counted) -> None:
    torch.manual_seed(rows)
    plain = nn.Linear(64, 2 if bias else 48, bias=bias)
    x = torch.randn(rows, 2, 64)[:, 1]
    torch.testing.assert_close(FusedLinear(plain)(x), plain(x), atol=1e-5, rtol=1e-5)
    assert counted.calls == few


@torch.inference_mode()
def test_no_rows_are_no_launch(counted: _Counted) -> None:
    assert FusedLinear(nn.Linear(64, 8))(torch.empty(0, 64)).shape == (0, 8)
    assert counted.calls == 0


@torch.inference_mode()
def test_a_module_keeps_its_weights_and_their_names(counted: _Counted) -> None:
    torch.manual_seed(0)
    module, x = ScalarQuantization(64, 32, 9).eval(), torch.randn(3, 64)
    expected, kept = module(x), {name: value.data_ptr() for name, value in module.named_parameters()}
    fuse_linears(module)
    torch.testing.assert_close(module(x), expected, atol=1e-5, rtol=1e-5)
    assert counted.calls == 2
    assert {name: value.data_ptr() for name, value in module.named_parameters()} == kept
