"""Rotary embedding and dense attention over short rows in one kernel, from one buffer of q, k and v.

A row is the handful of tokens of one stream (5 in VoxCPM's local encoder, 11 in its DiT), every one of which
sees all others. The keys and values of a row fit into one tile, so the softmax needs one pass, and the heads
that share a key/value head are rows of one tile as in `engine.attention.triton_kernels`. Heads are handled as
two halves, since the rotation mixes element i of one with element i of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import launch_options

MAX_ROW = 64
"""Tokens of the longest row."""
MAX_KEYS = 4096
"""Elements of the keys of one row and head, beyond which a program would run out of registers."""
_FULL = 4096
"""Tiles (row, key/value head) from which on there are enough programs without small tiles."""


@dataclass(frozen=True)
class RowLaunch:
    """Queries times heads per program (a power of two from 16), and its warps."""

    tile: int
    warps: int


@triton.jit
def _rotated(a, b, cos, sin):
    """Halves a and b [M, D/2] of heads, rotated: fp32."""
    a, b = a.to(tl.float32), b.to(tl.float32)
    return a * cos - b * sin, b * cos + a * sin


@triton.jit
def row_attention_kernel(
    qkv, cos, sin, out, scale,
    LENGTH: tl.constexpr, FIRST: tl.constexpr, KEPT: tl.constexpr,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, HALF: tl.constexpr, ROTARY: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_L: tl.constexpr, BLOCK_HALF: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (row, key/value head, tile) attends BLOCK_M of the row's queries times heads to the row.

    The queries are tokens FIRST to FIRST + KEPT; cos and sin are [LENGTH, 2 HALF].
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    TILES: tl.constexpr = (KEPT * GROUP + BLOCK_M - 1) // BLOCK_M
    HEADS: tl.constexpr = KV_HEADS * GROUP
    WIDTH: tl.constexpr = (HEADS + 2 * KV_HEADS) * 2 * HALF
    program = tl.program_id(0)
    tile, kv_head = program % TILES, program // TILES % KV_HEADS
    row = (program // (TILES * KV_HEADS)).to(tl.int64)
    operand = qkv.dtype.element_ty

    token, element = tl.arange(0, BLOCK_L), tl.arange(0, BLOCK_HALF)
    in_half = (element < HALF)[None, :]
    in_row = token < LENGTH
    member = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    query, head = member // GROUP, kv_head * GROUP + member % GROUP
    in_tile = (query < KEPT)[:, None] & in_half
    in_keys = in_row[:, None] & in_half

    row_start = qkv + row * LENGTH * WIDTH
    q_start = row_start + ((FIRST + query) * WIDTH + head * 2 * HALF)[:, None] + element[None, :]
    k_start = row_start + (token * WIDTH + (HEADS + kv_head) * 2 * HALF)[:, None] + element[None, :]
    v_start = k_start + KV_HEADS * 2 * HALF
    if PDL:
        tl.extra.cuda.gdc_wait()
    q_a, q_b = tl.load(q_start, mask=in_tile, other=0.0), tl.load(q_start + HALF, mask=in_tile, other=0.0)
    k_a, k_b = tl.load(k_start, mask=in_keys, other=0.0), tl.load(k_start + HALF, mask=in_keys, other=0.0)
    v_a, v_b = tl.load(v_start, mask=in_keys, other=0.0), tl.load(v_start + HALF, mask=in_keys, other=0.0)
    if ROTARY:
        of_query = ((FIRST + query) * 2 * HALF + HALF)[:, None] + element[None, :]
        of_key = (token * 2 * HALF + HALF)[:, None] + element[None, :]
        q_a, q_b = _rotated(
            q_a,
            q_b,
            tl.load(cos + of_query, mask=in_tile, other=0.0),
            tl.load(sin + of_query, mask=in_tile, other=0.0),
        )
        k_a, k_b = _rotated(
            k_a,
            k_b,
            tl.load(cos + of_key, mask=in_keys, other=0.0),
            tl.load(sin + of_key, mask=in_keys, other=0.0),
        )
    scores = tl.dot(q_a.to(operand), tl.trans(k_a.to(operand)), input_precision="ieee")
    scores = tl.dot(q_b.to(operand), tl.trans(k_b.to(operand)), scores, input_precision="ieee")
    scores = tl.where(in_row[None, :], scores * scale, float("-inf"))
    weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
    inverse = 1.0 / tl.sum(weights, 1)[:, None]
    weights = weights.to(operand)
    target = out + ((row * KEPT + query) * HEADS + head)[:, None] * 2 * HALF + element[None, :]
    mixed = tl.dot(weights, v_a, input_precision="ieee") * inverse
    tl.store(target, mixed.to(operand), mask=in_tile)
    mixed = tl.dot(weights, v_b, input_precision="ieee") * inverse
    tl.store(target + HALF, mixed.to(operand), mask=in_tile)


def fits(length: int, head_dim: int) -> bool:
    """Whether `row_attention` serves rows of this many tokens."""
    return length <= MAX_ROW and length * head_dim <= MAX_KEYS


def row_attention(
    qkv: Tensor,
    num_heads: int,
    num_kv_heads: int,
    rope: tuple[Tensor, Tensor] | None,
    keep: slice | None = None,
    launch: RowLaunch | None = None,
) -> Tensor:
    """Attention of every token of a row to all of that row.

    qkv: [N, L, (Hq + 2 Hkv) D], contiguous, queries first, then keys, then values, neither rotated.
    rope: cos, sin of positions 0 to L, fp32 [L, 1, D], as `LongRope.cos_sin` gives them; None: no rotation.
    keep: only these queries, a slice of step 1.

    Returns: [N, kept, Hq D].
    """
    num_rows, length, width = qkv.shape
    head_dim, group = width // (num_heads + 2 * num_kv_heads), num_heads // num_kv_heads
    first, end, _ = (keep or slice(None)).indices(length)
    kept = end - first
    out = qkv.new_empty(num_rows, kept, num_heads * head_dim)
    launch = launch or _launch(num_rows * num_kv_heads, kept * group)
    tiles = triton.cdiv(kept * group, launch.tile)
    cos, sin = rope or (qkv, qkv)
    row_attention_kernel[(num_rows * num_kv_heads * tiles,)](
        qkv, cos, sin, out, math.log2(math.e) / math.sqrt(head_dim),
        LENGTH=length, FIRST=first, KEPT=kept, KV_HEADS=num_kv_heads, GROUP=group, HALF=head_dim // 2,
        ROTARY=rope is not None, BLOCK_M=launch.tile, BLOCK_L=max(16, triton.next_power_of_2(length)),
        BLOCK_HALF=max(16, triton.next_power_of_2(head_dim // 2)), num_warps=launch.warps,
        **launch_options(qkv.device),
    )  # fmt: skip
    return out


def _launch(num_tiles: int, rows: int) -> RowLaunch:
    """Small tiles where there are few programs, so that more of the device works."""
    if num_tiles < _FULL // 16 or rows <= 16:
        return RowLaunch(16, 2)
    return RowLaunch(32, 4)
