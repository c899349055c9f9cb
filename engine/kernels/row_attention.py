"""Rotary embedding and dense attention over short rows in one kernel, from one buffer of q, k and v.

A row is the handful of tokens of one stream (5 in VoxCPM's local encoder, 11 in its DiT), every one of which
sees all others. A program is one warp, which holds the keys and values of a row and key/value head and goes
through the query heads that share them, 16 queries at a time. Only values pass through shared memory: see
`engine.kernels.fragments` for how what a lane loads is its part of the operands.

Heads are handled as two halves, since the rotation mixes element i of one with element i of the other.

A program that has a head of the result has all that `down` of an adapter wants of it, and what it multiplies
lies in a lane as an operand does. So what adapters add to the product that follows begins here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.fence import FENCE, fetch, load_before_computing
from engine.kernels.fragments import elements, factors, fragments, lanes, rotated, rows, shuffled, unshuffled
from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.linear.spare_rows import empty_with_spare
from engine.kernels.low_rank.slots import LowRankRows, turn_of
from engine.kernels.low_rank.within import MAX_ENTRIES

MAX_ROW = 64
"""Tokens of the longest row."""
MAX_KEYS = 4096
"""Elements of the keys of one row and head, beyond which a program would run out of registers."""
_TILE = 16
"""Queries, of one head or of several, that are multiplied at a time."""
_DOWN_BYTES = 128
"""Bytes of a column of `down` that a program holds besides."""
NO_DOWN: dict[str, Any] = dict.fromkeys(("down", "hidden", "turns", "slot_stride", "num_entries")) | {
    "RANK": 0,
    "ENTRY_ROWS": 0,
}
"""What is told without."""
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
def _down_of_half(
    down, there, RANK: tl.constexpr, SIZE: tl.constexpr, HALF: tl.constexpr, CHUNKS: tl.constexpr
):  # fmt: skip
    """The columns of `down` [RANK, SIZE] that belong to half a head, as an operand beside mixed values."""
    element, line = elements(CHUNKS), rows(RANK // 8)
    tile = tl.load(lanes(down, line * SIZE + element), mask=there & (element < HALF), other=0.0)
    return fragments(tile, RANK // 8, CHUNKS)


@triton.jit
def _halves(mixed, CHUNKS: tl.constexpr):
    """A product [rows, 2 elements] with shuffled values -> its halves."""
    return tl.split(tl.permute(tl.reshape(mixed, (mixed.shape[0], 2, CHUNKS * 32)), (0, 2, 1)))


@triton.jit(do_not_specialize=["num_entries"])
def row_attention_kernel(
    qkv, cos, sin, out, scale, down, hidden, turns, slot_stride, num_entries,
    LENGTH: tl.constexpr, FIRST: tl.constexpr, KEPT: tl.constexpr,
    KV_HEADS: tl.constexpr, GROUP: tl.constexpr, HALF: tl.constexpr, ROTARY: tl.constexpr,
    PARTS: tl.constexpr, TILES: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_L: tl.constexpr,
    BLOCK_HALF: tl.constexpr, RANK: tl.constexpr, ENTRY_ROWS: tl.constexpr, FENCE: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Program (row, key/value head, part) attends TILES tiles of BLOCK_Q queries times heads to the row.

    The queries are tokens FIRST to FIRST + KEPT; cos and sin are [LENGTH, 2 HALF]. With a RANK a tile is a
    head, and hidden [KV_HEADS PARTS, turns, ENTRY_ROWS, RANK] gets what `down` makes of these heads.
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
    if RANK:
        turn, slot = turn_of(turns, row % num_entries, num_entries)
    if PDL:
        tl.extra.cuda.gdc_wait()

    # Masked where they are used, or the compiler would wait for them before it loads anything else.
    values = tl.load(keys + KV_HEADS * 2 * HALF + value_offsets, mask=in_values)
    offsets = query * WIDTH + head * 2 * HALF + element
    next_a = tl.load(lanes(queries, offsets), mask=in_tile & in_half, other=0.0)
    next_b = tl.load(lanes(queries + HALF, offsets), mask=in_tile & in_half, other=0.0)
    k_a = tl.load(lanes(keys, key_offsets), mask=in_keys, other=0.0)
    k_b = tl.load(lanes(keys + HALF, key_offsets), mask=in_keys, other=0.0)
    if RANK:
        first_head = kv_head * GROUP + part * TILES
        lines = down + slot.to(tl.int64) * slot_stride + first_head * 2 * HALF
        if FENCE and turn >= 0:
            line = tl.arange(0, TILES * BLOCK_HALF // 32)[None, :] * 64
            fetch(lines + tl.arange(0, RANK)[:, None] * (HEADS * 2 * HALF) + line)
        found = tl.zeros([16, RANK], tl.float32)
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
        if RANK:
            there = (turn >= 0) & (part * TILES + step < GROUP)
            own = lines + step * 2 * HALF
            down_a = _down_of_half(own, there, RANK, HEADS * 2 * HALF, HALF, CHUNKS)
            down_b = _down_of_half(own + HALF, there, RANK, HEADS * 2 * HALF, HALF, CHUNKS)
        weights = tl.exp2(scores - tl.max(scores, 1)[:, None])
        weights = (weights / tl.sum(weights, 1)[:, None]).to(operand)
        mixed = tl.dot(weights, values, input_precision="ieee").to(out.dtype.element_ty)
        mixed_a, mixed_b = unshuffled(mixed, 2, CHUNKS)
        tl.store(lanes(target, offsets), mixed_a, mask=in_target)
        tl.store(lanes(target + HALF, offsets), mixed_b, mask=in_target)
        if RANK:  # noqa: SIM102, since without one there is no turn
            if turn >= 0:
                half_a, half_b = _halves(mixed, CHUNKS)
                found = tl.dot(half_a, tl.trans(down_a), found, input_precision="ieee")
                found = tl.dot(half_b, tl.trans(down_b), found, input_precision="ieee")
    if RANK:
        query = tl.arange(0, 16)[:, None]
        split, member = kv_head * PARTS + part, row // num_entries * KEPT + query
        source = hidden + ((split * num_entries + turn) * ENTRY_ROWS + member) * RANK
        tl.store(source + tl.arange(0, RANK)[None, :], found, mask=(query < KEPT) & (turn >= 0))


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
    return _attend(qkv, num_heads, num_kv_heads, rope, keep, launch, None)[0]


def shrinks(qkv: Tensor, keep: slice | None, rows: LowRankRows) -> bool:
    """Whether `row_attention_and_shrink` serves these rows, and should: products of few rows do it themselves
    (`low_rank.within`)."""
    first, end, _ = (keep or slice(None)).indices(qkv.shape[1])
    one_head_a_tile = triton.next_power_of_2(max(1, end - first)) == _TILE
    many = rows.num_entries > MAX_ENTRIES
    return many and one_head_a_tile and rows.slots.rank * qkv.element_size() <= _DOWN_BYTES


def row_attention_and_shrink(
    qkv: Tensor,
    num_heads: int,
    num_kv_heads: int,
    rope: tuple[Tensor, Tensor] | None,
    keep: slice | None,
    rows: LowRankRows,
    launch: RowLaunch | None = None,
) -> tuple[Tensor, LowRankRows]:
    """`row_attention`, and `rows` with what `down` makes of the result, where it `shrinks`."""
    out, sums = _attend(qkv, num_heads, num_kv_heads, rope, keep, launch, rows)
    assert sums is not None
    return out, rows.with_hidden(sums)


def _attend(
    qkv: Tensor,
    num_heads: int,
    num_kv_heads: int,
    rope: tuple[Tensor, Tensor] | None,
    keep: slice | None,
    launch: RowLaunch | None,
    rows: LowRankRows | None,
) -> tuple[Tensor, Tensor | None]:
    num_rows, length, width = qkv.shape
    head_dim, group = width // (num_heads + 2 * num_kv_heads), num_heads // num_kv_heads
    first, end, _ = (keep or slice(None)).indices(length)
    kept = end - first
    out = empty_with_spare((num_rows, kept, num_heads * head_dim), qkv)
    block_q = min(_TILE, triton.next_power_of_2(kept))
    num_tiles = triton.cdiv(group, _TILE // block_q) * triton.cdiv(kept, block_q)
    launch = launch or _launch(num_tiles, num_rows * num_kv_heads)
    parts = triton.cdiv(num_tiles, launch.tiles)
    sums, added = None, NO_DOWN
    if rows is not None:
        sums, added = _down(rows, num_rows * kept, num_kv_heads * parts)
    cos, sin = rope or (qkv, qkv)
    kernel_on(qkv.device, row_attention_kernel)[(num_rows * num_kv_heads * parts,)](
        qkv, cos, sin, out, math.log2(math.e) / math.sqrt(head_dim), **added,
        LENGTH=length, FIRST=first, KEPT=kept, KV_HEADS=num_kv_heads, GROUP=group, HALF=head_dim // 2,
        ROTARY=rope is not None, PARTS=parts, TILES=min(launch.tiles, num_tiles), BLOCK_Q=block_q,
        BLOCK_L=max(_TILE, triton.next_power_of_2(length)),
        BLOCK_HALF=max(32, triton.next_power_of_2(head_dim // 2)), FENCE=FENCE and launch.together,
        num_warps=1, **launch_options(qkv.device),
    )  # fmt: skip
    return out, sums


def _down(rows: LowRankRows, num_rows: int, splits: int) -> tuple[Tensor, dict[str, Any]]:
    """Where `down` of so many rows goes, in so many parts of K, and what the kernel is told of it."""
    slots, entry_rows = rows.slots, rows.entry_rows(num_rows)
    shape = splits, len(slots.place.outputs), rows.num_entries, entry_rows, slots.rank
    sums = torch.empty(shape, dtype=torch.float32, device=slots.storage.device)
    return sums, {
        "down": slots.storage[0, slots.place.down :], "hidden": sums, "turns": rows.turns,
        "slot_stride": slots.storage.stride(0), "num_entries": rows.num_entries, "RANK": slots.rank,
        "ENTRY_ROWS": entry_rows,
    }  # fmt: skip


def _launch(num_tiles: int, num_programs: int) -> RowLaunch:
    """As many tiles per program as leave enough programs; keys are rotated once for all of a program's."""
    tiles = max(1, min(num_tiles, num_tiles * num_programs // _PROGRAMS))
    return RowLaunch(1 << (tiles.bit_length() - 1))
