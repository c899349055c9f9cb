"""Rotary embedding and dense attention over short rows in one kernel, from one buffer of q, k and v.

A row is the handful of tokens of one stream (5 in VoxCPM's local encoder, 11 in its DiT), every one of which
sees all others. A program is one warp, which holds the keys and values of a row and key/value head and goes
through the query heads that share them, 16 queries at a time. Only values pass through shared memory: see
`engine.kernels.fragments` for how what a lane loads is its part of the operands.

Heads are handled as two halves, since the rotation mixes element i of one with element i of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.fence import FENCE, load_before_computing
from engine.kernels.fragments import elements, factors, fragments, lanes, rotated, rows, shuffled, unshuffled
from engine.kernels.launch import kernel_on, launch_options

MAX_ROW = 64
"""Tokens of the longest row."""
MAX_KEYS = 4096
"""Elements of the keys of one row and head, beyond which a program would run out of registers."""
_TILE = 16
"""Queries, of one head or of several, that are multiplied at a time."""
_PROGRAMS = 1024
"""Programs that occupy a device: 8 for each of 128 processors."""


@dataclass(frozen=True)
class RowLaunch:
    """How a kernel is launched; `benchmarks.gpu.kernels --launches` measures others than the default.

    Attributes:
        tiles: of queries per program.
        together: whether all loads are to be under way at once, which takes registers.
    """

    tiles: int
    together: bool = True


@triton.jit
def _members(tile, kv_head, KEPT: tl.constexpr, GROUP: tl.constexpr, BLOCK_Q: tl.constexpr):
    """Query and head of each row of a tile, and whether they exist."""
    HEADS: tl.constexpr = 16 // BLOCK_Q
    QUERY_TILES: tl.constexpr = (KEPT + BLOCK_Q - 1) // BLOCK_Q
    member = rows(2)
    query = tile % QUERY_TILES * BLOCK_Q + member % BLOCK_Q
    of_group = tile // QUERY_TILES * HEADS + member // BLOCK_Q
    return query, kv_head * GROUP + of_group, (query < KEPT) & (of_group < GROUP)


@triton.jit
def row_attention_kernel(
    qkv, cos, sin, out, scale,
    LENGTH: tl.constexpr, FIRST: tl.constexpr, KEPT: tl.constexpr,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, HALF: tl.constexpr, ROTARY: tl.constexpr,
    PARTS: tl.constexpr, TILES: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_L: tl.constexpr,
    BLOCK_HALF: tl.constexpr, FENCE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (row, key/value head, part) attends TILES tiles of BLOCK_Q queries times heads to the row.

    The queries are tokens FIRST to FIRST + KEPT; cos and sin are [LENGTH, 2 HALF].
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    HEADS: tl.constexpr = KV_HEADS * GROUP
    WIDTH: tl.constexpr = (HEADS + 2 * KV_HEADS) * 2 * HALF
    CHUNKS: tl.constexpr = BLOCK_HALF // 32
    EIGHTS: tl.constexpr = BLOCK_L // 8
    SAME_FACTORS: tl.constexpr = FIRST == 0 and BLOCK_Q == BLOCK_L
    program = tl.program_id(0)
    part, kv_head = program % PARTS, program // PARTS % KV_HEADS
    row = (program // (PARTS * KV_HEADS)).to(tl.int64)

    element, token = elements(CHUNKS), rows(EIGHTS)
    in_half = element < HALF
    in_keys = (token < LENGTH) & in_half
    keys = qkv + row * LENGTH * WIDTH + (HEADS + kv_head) * 2 * HALF
    key_offsets = token * WIDTH + element
    place, half = tl.arange(0, BLOCK_L)[:, None, None], tl.arange(0, 2)[None, :, None]
    of_half = tl.arange(0, BLOCK_HALF)[None, None, :]
    in_values = (place < LENGTH) & (of_half < HALF)
    value_offsets = place * WIDTH + half * HALF + of_half
    queries = qkv + (row * LENGTH + FIRST) * WIDTH
    query, head, in_tile = _members(part * TILES, kv_head, KEPT, GROUP, BLOCK_Q)
    if ROTARY:
        cos_k = factors(cos, token, token < LENGTH, HALF, EIGHTS, CHUNKS)
        sin_k = factors(sin, token, token < LENGTH, HALF, EIGHTS, CHUNKS)
        if SAME_FACTORS:
            cos_q, sin_q = cos_k, sin_k
        else:
            cos_q = factors(cos, FIRST + query, query < KEPT, HALF, 2, CHUNKS)
            sin_q = factors(sin, FIRST + query, query < KEPT, HALF, 2, CHUNKS)
    if PDL:
        tl.extra.cuda.gdc_wait()

    # Masked where they are used, or the compiler would wait for them before it loads anything else.
    values = tl.load(keys + KV_HEADS * 2 * HALF + value_offsets, mask=in_values)
    offsets = query * WIDTH + head * 2 * HALF + element
    next_a = tl.load(lanes(queries, offsets), mask=in_tile & in_half, other=0.0)
    next_b = tl.load(lanes(queries + HALF, offsets), mask=in_tile & in_half, other=0.0)
    k_a = tl.load(lanes(keys, key_offsets), mask=in_keys, other=0.0)
    k_b = tl.load(lanes(keys + HALF, key_offsets), mask=in_keys, other=0.0)
    if FENCE:
        load_before_computing()
    if ROTARY:
        k_a, k_b = rotated(k_a, k_b, cos_k, sin_k)
    operand = qkv.dtype.element_ty
    k_a, k_b = fragments(k_a.to(operand), EIGHTS, CHUNKS), fragments(k_b.to(operand), EIGHTS, CHUNKS)
    values = shuffled(tl.where(in_values, values, 0.0), BLOCK_L, 2 * CHUNKS)
    visible = (tl.arange(0, BLOCK_L) < LENGTH)[None, :]
    target = out + row * KEPT * HEADS * 2 * HALF
    for step in tl.static_range(TILES):
        q_a, q_b = next_a, next_b
        if ROTARY:
            if step > 0 and KEPT > BLOCK_Q:
                cos_q = factors(cos, FIRST + query, query < KEPT, HALF, 2, CHUNKS)
                sin_q = factors(sin, FIRST + query, query < KEPT, HALF, 2, CHUNKS)
            q_a, q_b = rotated(q_a, q_b, cos_q, sin_q)
        offsets = (query * HEADS + head) * 2 * HALF + element
        in_target = in_tile & in_half
        if step + 1 < TILES:
            query, head, in_tile = _members(part * TILES + step + 1, kv_head, KEPT, GROUP, BLOCK_Q)
            following = query * WIDTH + head * 2 * HALF + element
            next_a = tl.load(lanes(queries, following), mask=in_tile & in_half, other=0.0)
            next_b = tl.load(lanes(queries + HALF, following), mask=in_tile & in_half, other=0.0)
        scores = tl.dot(fragments(q_a.to(operand), 2, CHUNKS), tl.trans(k_a), input_precision="ieee")
        scores += tl.dot(fragments(q_b.to(operand), 2, CHUNKS), tl.trans(k_b), input_precision="ieee")
        scores = tl.where(visible, scores * scale, float("-inf"))
        weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
        weights = (weights / tl.sum(weights, 1)[:, None]).to(operand)
        mixed = tl.dot(weights, values, input_precision="ieee").to(out.dtype.element_ty)
        mixed_a, mixed_b = unshuffled(mixed, 2, CHUNKS)
        tl.store(lanes(target, offsets), mixed_a, mask=in_target)
        tl.store(lanes(target + HALF, offsets), mixed_b, mask=in_target)


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
        They are read before earlier kernels have ended: constants, not what those write.
    keep: only these queries, a slice of step 1.

    Returns: [N, kept, Hq D].
    """
    num_rows, length, width = qkv.shape
    head_dim, group = width // (num_heads + 2 * num_kv_heads), num_heads // num_kv_heads
    first, end, _ = (keep or slice(None)).indices(length)
    kept = end - first
    out = qkv.new_empty(num_rows, kept, num_heads * head_dim)
    block_q = min(_TILE, triton.next_power_of_2(kept))
    num_tiles = triton.cdiv(group, _TILE // block_q) * triton.cdiv(kept, block_q)
    launch = launch or _launch(num_tiles, num_rows * num_kv_heads)
    parts = triton.cdiv(num_tiles, launch.tiles)
    cos, sin = rope or (qkv, qkv)
    kernel_on(qkv.device, row_attention_kernel)[(num_rows * num_kv_heads * parts,)](
        qkv, cos, sin, out, math.log2(math.e) / math.sqrt(head_dim),
        LENGTH=length, FIRST=first, KEPT=kept, KV_HEADS=num_kv_heads, GROUP=group, HALF=head_dim // 2,
        ROTARY=rope is not None, PARTS=parts, TILES=min(launch.tiles, num_tiles), BLOCK_Q=block_q,
        BLOCK_L=max(_TILE, triton.next_power_of_2(length)),
        BLOCK_HALF=max(32, triton.next_power_of_2(head_dim // 2)), FENCE=FENCE and launch.together,
        num_warps=1, **launch_options(qkv.device),
    )  # fmt: skip
    return out


def _launch(num_tiles: int, num_programs: int) -> RowLaunch:
    """As many tiles per program as leave enough programs; keys are rotated once for all of a program's."""
    tiles = max(1, min(num_tiles, num_tiles * num_programs // _PROGRAMS))
    return RowLaunch(1 << (tiles.bit_length() - 1))
