"""Layers of many rows by tiles, in Triton's interpreter, and where they are taken."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.kernels.activation import silu_mul
from engine.kernels.linear.tiled_linear import serves, tiled_linear
from engine.kernels.linear.tilings import GATED_TILINGS, LINEAR_TILINGS, Tiling
from models.transformer import products

TILING = Tiling(16, 32, 64, 4, 2)
CLOSE = {torch.float32: {"rtol": 1e-5, "atol": 1e-6}, torch.float16: {"rtol": 5e-3, "atol": 2e-3}}


def layer(rows: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    torch.manual_seed(5)
    return torch.randn(*rows, 128).to(dtype), (torch.randn(2 * 96, 128) / 11).to(dtype)


@pytest.mark.parametrize("rows", [(5,), (2, 11), (48,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_it_makes_what_a_product_makes(rows: tuple[int, ...], dtype: torch.dtype) -> None:
    x, weight = layer(rows, dtype)
    found = tiled_linear(x, weight, TILING)
    assert found.shape == (*rows, 192) and found.dtype == dtype
    torch.testing.assert_close(found, F.linear(x, weight), **CLOSE[dtype])


@pytest.mark.parametrize("rows", [(5,), (2, 11), (48,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_with_a_gate_it_makes_what_a_product_and_a_gate_make(
    rows: tuple[int, ...], dtype: torch.dtype
) -> None:
    x, weight = layer(rows, dtype)
    found = tiled_linear(x, weight, TILING, gated=True)
    assert found.shape == (*rows, 96) and found.dtype == dtype
    gate, up = F.linear(x, weight).float().chunk(2, dim=-1)
    torch.testing.assert_close(found.float(), F.silu(gate) * up, **CLOSE[dtype])
    behind = silu_mul(F.linear(x, weight).flatten(0, -2)).view(found.shape)
    torch.testing.assert_close(found, behind, **CLOSE[dtype])


def test_sizes_that_tiles_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="not whole tiles"):
        tiled_linear(torch.randn(4, 128), torch.randn(2 * 40, 128), TILING, gated=True)
    with pytest.raises(ValueError, match="not whole tiles"):
        tiled_linear(torch.randn(4, 96), torch.randn(64, 96), TILING)


def test_other_devices_take_the_matrix_library() -> None:
    x, weight = torch.randn(6, 64, dtype=torch.bfloat16), torch.randn(64, 64, dtype=torch.bfloat16)
    assert not serves(x, weight)


@pytest.mark.parametrize("gated", [False, True])
def test_layers_take_tiles_for_the_rows_that_are_told(gated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = layer((2, 11), torch.float32)
    taken = []

    def tiled(x: Tensor, weight: Tensor, tiling: Tiling, gated: bool = False) -> Tensor:
        taken.append(tiling)
        return tiled_linear(x, weight, tiling, gated)

    monkeypatch.setattr(products, "serves", lambda x, weight: True)
    monkeypatch.setattr(products, "tiled_linear", tiled)
    told = {(len(weight) // (1 + gated), 128): {22: TILING}}
    monkeypatch.setattr(products, "GATED_TILINGS" if gated else "LINEAR_TILINGS", told)
    product = products.GATED if gated else products.LINEAR
    found = product(x, weight, None)
    assert taken == [TILING] and len(product(x[:1], weight, None)) == 1 and taken == [TILING]
    told.clear()
    torch.testing.assert_close(found, product(x, weight, None), **CLOSE[torch.float32])


@pytest.mark.parametrize("told", [GATED_TILINGS, LINEAR_TILINGS], ids=["gated", "whole"])
def test_tiles_that_are_told_divide_their_layers(told: dict[tuple[int, int], dict[int, Tiling]]) -> None:
    assert told
    for (outputs, inputs), of_rows in told.items():
        for tiling in of_rows.values():
            assert outputs % tiling.outputs == inputs % tiling.inputs == 0
