"""Products shared out over K, and the sum and norm after them, against torch, in Triton's interpreter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kernels.linear.halved_linear import halved_linear, paying_rows
from engine.kernels.linear.split_linear import fits, partial_linear, split_linear
from engine.kernels.linear.split_tiling import (
    FEW_ROWS,
    MAX_ROWS,
    SplitTiling,
    registers,
    row_tiles,
    split_tiling,
)
from engine.kernels.norms.add_and_norm import add_and_norm
from tests.engine.compiler import compiled

EPS = 1e-3
SHAPES = [
    (1, 16, 64),
    (5, 40, 328),
    (13, 48, 256),
    (22, 64, 512),
    (40, 33, 1000),
    (4, 48, 768),
    (48, 64, 128),
    (64, 20, 2048),
]
"""Rows, outputs and inputs; some fill no tile."""


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(12)


@pytest.mark.parametrize(("rows", "outputs", "size"), SHAPES)
@pytest.mark.parametrize("gated", [False, True])
def test_a_whole_product(rows: int, outputs: int, size: int, gated: bool) -> None:
    x, weight = torch.randn(rows, size), torch.randn(outputs * (1 + gated), size) / size**0.5
    expected = F.linear(x, weight)
    if gated:
        gate, up = expected.chunk(2, dim=-1)
        expected = F.silu(gate) * up
    torch.testing.assert_close(split_linear(x, weight, gated=gated), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("rows", "outputs", "size"), SHAPES)
def test_a_bias_is_added_once(rows: int, outputs: int, size: int) -> None:
    x, weight, bias = torch.randn(rows, size), torch.randn(outputs, size) / size**0.5, torch.randn(outputs)
    expected = F.linear(x, weight, bias)
    torch.testing.assert_close(split_linear(x, weight, bias=bias), expected, atol=1e-5, rtol=1e-4)


def test_a_gated_product_has_no_bias() -> None:
    with pytest.raises(ValueError, match="no bias"):
        split_linear(torch.randn(2, 64), torch.randn(32, 64), bias=torch.randn(32), gated=True)


def test_halves_of_the_library_add_up() -> None:
    x, weight = torch.randn(3, 5, 24), torch.randn(7, 24)
    parts = halved_linear(x, weight)
    assert parts.shape == (2, 15, 7) and parts.is_contiguous()
    torch.testing.assert_close(parts[0], x.flatten(0, 1)[:, :12] @ weight[:, :12].T)
    torch.testing.assert_close(parts.sum(0), F.linear(x, weight).flatten(0, 1))


def test_halves_that_are_known_to_pay_for_whole_products_alone_are_not_taken_over_ranks() -> None:
    assert any(192 in rows for rows in paying_rows(4096))
    assert paying_rows(4096, whole=False) == paying_rows(48) == ()
    assert paying_rows(1024, whole=False) == paying_rows(1024)


@pytest.mark.parametrize(("rows", "outputs", "size"), SHAPES)
def test_parts_add_up_and_are_normalised(rows: int, outputs: int, size: int) -> None:
    x, weight = torch.randn(rows, size), torch.randn(outputs, size) / size**0.5
    residual, norm = torch.randn(rows, outputs), torch.randn(outputs)
    partials = partial_linear(x, weight)
    hidden, normed = add_and_norm(partials, residual, norm, EPS, 0.3)
    expected = residual + 0.3 * F.linear(x, weight)
    torch.testing.assert_close(hidden, expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(normed, F.rms_norm(expected, norm.shape, norm, EPS), atol=1e-5, rtol=1e-4)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(1, MAX_ROWS), st.integers(1, 80), st.integers(1, 160).map(lambda eights: 8 * eights))
def test_whatever_the_shape(rows: int, outputs: int, size: int) -> None:
    x, weight = torch.randn(rows, size), torch.randn(outputs, size) / size**0.5
    expected = F.linear(x, weight)
    torch.testing.assert_close(split_linear(x, weight), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(partial_linear(x, weight).sum(0), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("splits", [1, 2, 8])
@pytest.mark.parametrize("early, ahead", [(1, 1), (2, 1), (1, 3), (9, 9)])
@pytest.mark.parametrize(("outputs", "step", "warps"), [(16, 64, 1), (32, 128, 2), (64, 64, 2)])
@pytest.mark.parametrize("size", [328, 384])
def test_every_way_to_cut_up_the_work(
    splits: int, early: int, ahead: int, outputs: int, step: int, warps: int, size: int
) -> None:
    """Of 384 inputs, 8 parts in steps of 128 leave five parts none."""
    x, weight = torch.randn(19, size), torch.randn(72, size) / size**0.5
    tiling = SplitTiling(outputs, splits, step, warps, early, ahead)
    partials = partial_linear(x, weight, tiling=tiling)
    assert partials.shape == (splits, 19, 72)
    torch.testing.assert_close(partials.sum(0), F.linear(x, weight), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kept", [slice(0, 1), slice(-2, None), slice(1, 4)])
def test_a_residual_whose_rows_stand_in_groups(kept: slice) -> None:
    x = torch.randn(3, 5, 32)
    residual, norm = x[:, kept], torch.randn(32)
    given, partials = x.clone(), torch.randn(4, 3 * residual.shape[1], 32)
    hidden, normed = add_and_norm(partials, residual, norm, EPS)
    assert hidden.is_contiguous() and normed.is_contiguous()
    expected = residual + partials.sum(0).view_as(residual)
    torch.testing.assert_close(hidden, expected)
    torch.testing.assert_close(normed, F.rms_norm(expected, norm.shape, norm, EPS), atol=1e-5, rtol=1e-5)
    assert torch.equal(x, given)


def test_unevenly_spaced_rows_are_refused() -> None:
    norm, partials = torch.ones(64), torch.zeros(1, 27, 64)
    with pytest.raises(ValueError, match="not evenly spaced"):
        add_and_norm(partials, torch.randn(4, 4, 4, 64)[:3, :3, :3], norm, EPS)
    with pytest.raises(ValueError, match="contiguous"):
        add_and_norm(partials, torch.randn(64, 27).T, norm, EPS)


def test_what_lies_beyond_the_rows_is_not_read() -> None:
    buffer = torch.full((24, 96), float("nan"))
    buffer[:17] = torch.randn(17, 96)
    weight = torch.randn(32, 96) / 10
    expected = F.linear(buffer[:17], weight)
    torch.testing.assert_close(split_linear(buffer[:17], weight), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(partial_linear(buffer[:17], weight).sum(0), expected, atol=1e-5, rtol=1e-4)


def test_which_products_it_is_for() -> None:
    weight = torch.zeros(64, 128, dtype=torch.bfloat16, device="meta")
    assert fits(FEW_ROWS, weight)
    assert not fits(FEW_ROWS + 1, weight)
    assert fits(44, torch.zeros(2560, 1024, dtype=torch.bfloat16, device="meta"))
    large = torch.zeros(6144, 4096, dtype=torch.bfloat16, device="meta")
    assert fits(24, large) and not fits(25, large)
    assert not fits(MAX_ROWS + 1, torch.zeros(2560, 1024, dtype=torch.bfloat16, device="meta"))
    assert not fits(1, weight.float())
    assert not fits(1, weight.T)
    with pytest.raises(ValueError, match="65 rows"):
        split_linear(torch.zeros(MAX_ROWS + 1, 128), torch.zeros(64, 128))


@pytest.mark.parametrize("rows", [1, 5, 18, 22, 33, 44, 64])
@pytest.mark.parametrize("size", [32, 64, 100, 768, 1024, 1536, 2048, 2304, 4096, 6144])
def test_the_rule_for_other_shapes_covers_k(rows: int, size: int) -> None:
    assert sum(row_tiles(rows)) >= rows
    for gated, split in ((False, False), (True, False), (False, True)):
        tiling = split_tiling(rows, 1000, size, gated, split)
        steps = -(-size // (tiling.step * tiling.splits))
        assert tiling.step % (32 * tiling.warps) == 0
        assert 1 <= tiling.early <= steps and 1 <= tiling.ahead <= steps
        assert tiling.splits * (steps - 1) * tiling.step < size
        assert (tiling.splits - 1) * steps * tiling.step < size <= tiling.splits * steps * tiling.step
        assert split or tiling.splits == 1


def test_registers_hold_what_the_rule_puts_there() -> None:
    for rows, outputs, size in ((22, 2560, 1024), (22, 4096, 1024), (44, 4096, 1024), (1, 6144, 2048)):
        assert registers(rows, size, True, split_tiling(rows, outputs, size, True, False)) <= 230


@pytest.mark.timeout(300)
def test_weights_are_loaded_before_the_wait_and_nothing_is_rearranged(tmp_path: Path) -> None:
    """See `compile_split`; whichever version the compiler has."""
    lines = compiled("tests.engine.kernels.compiling.compile_split", tmp_path)
    kernels = [json.loads(line) for line in lines]
    assert len(kernels) == 33
    for kernel in kernels:
        assert kernel["stores_before"] == kernel["spilled"] == 0, kernel
        if kernel["kernel"] == "split_linear":
            assert kernel["wide_loads_before"] >= 8, kernel
            assert kernel["narrow_loads_before"] == kernel["exchanges"] == 0, kernel
