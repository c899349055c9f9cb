"""Each kernel against the plain form of what it computes, in Triton's interpreter."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.attention.backend import HeadNorms
from engine.kernels.activation import silu_mul
from engine.kernels.merge import merge_
from engine.kernels.norms.norm import rms_norm
from engine.kernels.rotary import rotate_
from engine.kernels.row_attention import RowLaunch, row_attention
from engine.layers.rotary import LongRope, apply_rotary


def _rope(head_dim: int, positions: Tensor) -> tuple[Tensor, Tensor]:
    factor = torch.linspace(1, 9, head_dim // 2).tolist()
    return LongRope(head_dim, 10000.0, 2048, 1024, factor, factor).cos_sin(positions)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(3)


@pytest.mark.parametrize("shape", [(1, 64), (5, 96), (2, 3, 1024)])
def test_rms_norm_is_that_of_torch(shape: tuple[int, ...]) -> None:
    x, weight = torch.randn(shape) * 3, torch.randn(shape[-1])
    torch.testing.assert_close(rms_norm(x, weight, 1e-5), F.rms_norm(x, shape[-1:], weight, 1e-5))


def test_rms_norm_of_rows_that_stand_apart() -> None:
    x, weight = torch.randn(7, 5, 64), torch.randn(64)
    kept = x[:, 1]
    torch.testing.assert_close(rms_norm(kept, weight, 1e-6), F.rms_norm(kept, (64,), weight, 1e-6))


@pytest.mark.parametrize(("rows", "size"), [(1, 16), (7, 100), (3, 1536)])
def test_silu_mul_is_a_gate_and_a_product(rows: int, size: int) -> None:
    gate_up = torch.randn(rows, 2 * size) * 4
    gate, up = gate_up.chunk(2, dim=-1)
    torch.testing.assert_close(silu_mul(gate_up), F.silu(gate) * up)


@pytest.mark.parametrize(("heads", "head_dim"), [(18, 32), (3, 64), (5, 24)])
def test_rotation_in_place_leaves_values_alone(heads: int, head_dim: int) -> None:
    tokens, values = 6, 2
    qkv = torch.randn(tokens, heads + values, head_dim)
    cos, sin = _rope(head_dim, torch.tensor([0, 1, 5, 700, 2, 31]))
    expected = torch.cat([apply_rotary(qkv[:, :heads], cos, sin), qkv[:, heads:]], dim=1)
    rotate_(qkv.flatten(1), heads, head_dim, (cos, sin))
    torch.testing.assert_close(qkv, expected)


@pytest.mark.parametrize("rotary", [True, False])
def test_heads_are_normalised_before_they_are_rotated(rotary: bool) -> None:
    queries, keys, values, head_dim = 5, 2, 2, 32
    qkv = torch.randn(4, queries + keys + values, head_dim)
    q_norm, k_norm = torch.randn(2, head_dim)
    rope = _rope(head_dim, torch.tensor([3, 0, 90, 1])) if rotary else None
    q, k, v = qkv.split([queries, keys, values], 1)
    shape = (head_dim,)
    expected = torch.cat([F.rms_norm(q, shape, q_norm, 1e-6), F.rms_norm(k, shape, k_norm, 1e-6)], 1)
    expected = expected if rope is None else apply_rotary(expected, *rope)
    rotate_(qkv.flatten(1), queries + keys, head_dim, rope, HeadNorms(q_norm, k_norm, 1e-6), queries)
    torch.testing.assert_close(qkv, torch.cat([expected, v], 1))


def plain_row_attention(
    qkv: Tensor, heads: int, kv_heads: int, rope: tuple[Tensor, Tensor] | None, keep: slice | None
) -> Tensor:
    head_dim = qkv.shape[-1] // (heads + 2 * kv_heads)
    qk, v = qkv.unflatten(-1, (-1, head_dim)).split([heads + kv_heads, kv_heads], dim=-2)
    qk = qk if rope is None else apply_rotary(qk, *rope)
    q, k = qk.split([heads, kv_heads], dim=-2)
    q, k, v = (part.transpose(1, 2) for part in (q[:, keep or slice(None)], k, v))
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim", "length"),
    [(16, 2, 128, 11), (4, 2, 32, 5), (6, 2, 64, 7), (2, 2, 24, 17), (3, 1, 32, 33), (2, 1, 16, 64)],
)
@pytest.mark.parametrize("keep", [None, slice(-4, None), slice(0, 1)])
@pytest.mark.parametrize("rotary", [True, False])
def test_row_attention_is_attention_within_each_row(
    heads: int, kv_heads: int, head_dim: int, length: int, keep: slice | None, rotary: bool
) -> None:
    qkv = torch.randn(3, length, (heads + 2 * kv_heads) * head_dim)
    rope = _rope(head_dim, torch.arange(length)) if rotary else None
    before = qkv.clone()
    expected = plain_row_attention(qkv, heads, kv_heads, rope, keep)
    for launch in (None, RowLaunch(3)):
        actual = row_attention(qkv, heads, kv_heads, rope, keep, launch)
        torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(qkv, before)


def test_a_row_sees_nothing_of_its_neighbours() -> None:
    qkv = torch.randn(3, 5, 4 * 32)
    alone = row_attention(qkv[1:2].contiguous(), 2, 1, None)
    qkv[0], qkv[2] = float("nan"), float("nan")
    assert torch.equal(row_attention(qkv, 2, 1, None)[1:2], alone)


@pytest.mark.parametrize(("queries", "heads", "head_dim"), [(1, 6, 64), (5, 3, 24)])
def test_parts_of_a_context_are_merged_as_one_softmax(queries: int, heads: int, head_dim: int) -> None:
    """Scores of very unequal size, and log-sum-exps that stand head after head."""
    out, more = torch.randn(2, queries, heads, head_dim)
    weight, lse = torch.randn(queries, heads) * 20, torch.randn(heads, queries).t() * 20
    shares = torch.stack([weight, lse]).softmax(0)[..., None]
    expected, total = out * shares[0] + more * shares[1], torch.logaddexp(weight, lse)
    merge_(out, weight, more, lse)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(weight, total)
