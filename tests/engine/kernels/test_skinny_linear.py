"""Products of few rows against plain torch, in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.kernels.skinny_linear import MAX_ROWS, fits, skinny_linear
from engine.kernels.skinny_tiling import Tiling, padded_rows, tiling_for

ROOT = Path(__file__).resolve().parents[3]
EPS = 1e-3
SHAPES = [(1, 16, 64), (2, 48, 1024), (5, 40, 256), (7, 24, 100), (11, 33, 520), (22, 64, 96), (70, 20, 130)]
"""Rows, outputs and inputs; some fill no tile."""
CUTS = [(16, 64, 1), (32, 128, 2), (16, 256, 4), (64, 256, 8)]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(11)


def plain(
    x: Tensor,
    weight: Tensor,
    norm: Tensor | None = None,
    bias: Tensor | None = None,
    gated: bool = False,
    residual: Tensor | None = None,
    alpha: float = 1.0,
) -> Tensor:
    product = F.linear(x if norm is None else F.rms_norm(x, norm.shape, norm, EPS), weight, bias)
    if gated:
        gate, up = product.chunk(2, dim=-1)
        product = F.silu(gate) * up
    return product if residual is None else residual + alpha * product


@pytest.mark.parametrize(("rows", "outputs", "size"), SHAPES)
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("gated", [False, True])
def test_norm_and_gate(rows: int, outputs: int, size: int, normed: bool, gated: bool) -> None:
    x, weight = torch.randn(rows, size) * 3, torch.randn(outputs * (1 + gated), size) / size**0.5
    norm = torch.randn(size) if normed else None
    actual = skinny_linear(x, weight, norm=norm, eps=EPS, gated=gated)
    torch.testing.assert_close(actual, plain(x, weight, norm, gated=gated), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("rows", "outputs", "size"), SHAPES)
@pytest.mark.parametrize("gated", [False, True])
def test_bias_and_residual(rows: int, outputs: int, size: int, gated: bool) -> None:
    x, weight = torch.randn(rows, size), torch.randn(outputs * (1 + gated), size) / size**0.5
    bias, residual = torch.randn(len(weight)), torch.randn(rows, outputs)
    norm = torch.randn(size)
    actual = skinny_linear(
        x, weight, norm=norm, eps=EPS, bias=bias, gated=gated, residual=residual, alpha=0.3
    )
    expected = plain(x, weight, norm, bias, gated, residual, 0.3)
    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("early", [1, 2, 9])
@pytest.mark.parametrize(
    ("outputs", "step", "warps"), [(16, 64, 1), (32, 128, 2), (16, 256, 4), (64, 256, 8)]
)
def test_every_way_to_cut_up_the_work(outputs: int, step: int, warps: int, early: int) -> None:
    x, weight, norm = torch.randn(9, 328), torch.randn(2 * 72, 328) / 18, torch.randn(328)
    tiling = Tiling(outputs, step, warps, early)
    actual = skinny_linear(x, weight, norm=norm, eps=EPS, gated=True, tiling=tiling)
    torch.testing.assert_close(actual, plain(x, weight, norm, gated=True), atol=1e-5, rtol=1e-4)


def test_a_residual_in_place() -> None:
    x, weight, hidden = torch.randn(6, 96), torch.randn(40, 96) / 10, torch.randn(6, 40)
    expected = plain(x, weight, residual=hidden)
    assert skinny_linear(x, weight, residual=hidden, out=hidden) is hidden
    torch.testing.assert_close(hidden, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kept", [slice(0, 1), slice(-2, None), slice(1, 4)])
def test_rows_that_stand_in_groups(kept: slice) -> None:
    weight = torch.randn(32, 64) / 8
    x, hidden, target = torch.randn(3, 5, 64), torch.randn(3, 5, 32), torch.zeros(3, 7, 32)
    count = hidden[:, kept].shape[1]
    expected = plain(x[:, kept], weight, residual=hidden[:, kept])
    written = skinny_linear(x[:, kept], weight, residual=hidden[:, kept], out=target[:, 2 : 2 + count])
    torch.testing.assert_close(written, expected, atol=1e-5, rtol=1e-4)
    assert not target[:, :2].any()
    assert not target[:, 2 + count :].any()


def test_unevenly_spaced_rows_are_refused() -> None:
    x = torch.randn(4, 4, 4, 64)[:3, :3, :3]
    with pytest.raises(ValueError, match="not evenly spaced"):
        skinny_linear(x, torch.randn(16, 64))
    with pytest.raises(ValueError, match="contiguous"):
        skinny_linear(torch.randn(64, 4).T, torch.randn(16, 64))


def test_what_lies_beyond_the_rows_is_not_read() -> None:
    buffer = torch.full((16, 96), float("nan"))
    buffer[:3] = torch.randn(3, 96)
    weight, norm = torch.randn(16, 96) / 10, torch.randn(96)
    actual = skinny_linear(buffer[:3], weight, norm=norm, eps=EPS)
    torch.testing.assert_close(actual, plain(buffer[:3], weight, norm), atol=1e-5, rtol=1e-4)


def test_which_products_it_is_for() -> None:
    weight = torch.zeros(64, 128, dtype=torch.bfloat16, device="meta")
    assert fits(1, weight)
    assert fits(MAX_ROWS, weight)
    assert not fits(MAX_ROWS + 1, weight)
    assert not fits(1, weight.float())
    assert not fits(1, weight.T)
    assert not fits(1, torch.zeros(64, 100, dtype=torch.bfloat16, device="meta"))
    assert fits(1, torch.zeros(64, 128))


@pytest.mark.parametrize("rows", [1, 5, 22, 44, 64])
@pytest.mark.parametrize("size", [32, 64, 100, 1024, 2048, 4096, 6144])
def test_the_rule_for_other_shapes_covers_k(rows: int, size: int) -> None:
    for gated in (False, True):
        tiling = tiling_for(rows, 1000, size, gated)
        assert tiling.step % (32 * tiling.warps) == 0
        assert 1 <= tiling.early <= -(-size // tiling.step)
        assert tiling.step < 2 * max(size, 32)
    assert padded_rows(rows) >= min(rows, 64)


def test_weights_are_loaded_before_the_wait_and_nothing_is_rearranged(tmp_path: Path) -> None:
    """What `_fragments` and the hint in `_tile` ask of the compiler, whichever version it is."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "tests.engine.kernels.compile_skinny"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    kernels = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(kernels) == 28
    for kernel in kernels:
        assert kernel["wide_loads_before"] >= 4, kernel
        assert kernel["narrow_loads_before"] == kernel["stores_before"] == kernel["exchanges"] == 0, kernel
