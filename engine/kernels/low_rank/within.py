"""Low-rank additions within the kernel of the product that they belong to (`split_linear`), for few rows.

Two kernels more per product (`around`) take longer than the product of a single stream. Here
the first programs of the product's kernel `shrink`, one item each, while the others multiply; these wait for
them at the end, where they add `up` times what the first ones gave. The first programs are running before the
others, which is why nobody waits in vain. What they give is there when it is no longer the zero that stood
there before, bit by bit, so that it is waited for by reading it: no flag travels behind it.

    y = split_linear(x, weight, low_rank=LowRankRows(slots, turns, Zeros(device), branches=2))
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from engine.kernels.low_rank.slots import LowRankRows, down_of, entry_of, rows_of

MAX_ENTRIES = 4
"""Programs add one entry after the other."""
_INPUTS = 256
"""Elements of K of an item."""


def fits_within(rows: LowRankRows, num_rows: int, outputs: int) -> bool:
    """Whether programs of a product, of so many outputs each, add it themselves."""
    few = rows.num_entries <= MAX_ENTRIES and num_rows % (rows.branches * rows.num_entries) == 0
    return few and all(part % outputs == 0 for part in rows.slots.place.outputs)


def additions(rows: LowRankRows, num_rows: int) -> dict[str, Any]:
    """What `split_linear_kernel` is told. Raises ValueError where rows and entries do not fit."""
    slots, place, repeat = rows.slots, rows.slots.place, rows.repeat(num_rows)
    parts, rank = len(place.outputs), slots.rank
    inputs = max(16, min(_INPUTS, triton.next_power_of_2(place.size)))
    splits = triton.cdiv(place.size, inputs)
    entry_rows = rows.entry_rows(num_rows)
    return {
        "down": slots.storage[0, place.down :], "up": slots.storage[0, place.up :],
        "hidden": rows.zeros.take(splits, parts, rows.num_entries, entry_rows, rank),
        "turns": rows.turns, "slot_stride": slots.storage.stride(0),
        "num_entries": rows.num_entries, "RANK": rank, "PARTS": parts, "FIRST": place.outputs[0],
        "OTHER": (place.outputs[1:] or place.outputs)[0], "REPEAT": repeat, "BRANCHES": rows.branches,
        "ENTRY_ROWS": entry_rows, "INPUTS": inputs, "ITEMS": rows.num_entries * parts * splits,
    }  # fmt: skip


NO_ADDITIONS: dict[str, Any] = dict.fromkeys(
    ("down", "up", "hidden", "turns", "slot_stride", "num_entries")
) | dict.fromkeys(
    ("RANK", "PARTS", "FIRST", "OTHER", "REPEAT", "BRANCHES", "ENTRY_ROWS", "INPUTS", "ITEMS"), 0
)
"""The arguments of a product without."""


@triton.jit
def shrink_item(
    x, down, hidden, turns, stride, num_entries,
    K: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr, BRANCHES: tl.constexpr,
    ENTRY_ROWS: tl.constexpr, INPUTS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program i: hidden [SPLITS, PARTS, turns, ENTRY_ROWS, RANK] of item i, the bits of fp32."""
    SPLITS: tl.constexpr = (K + INPUTS - 1) // INPUTS
    item, k = tl.program_id(0), tl.arange(0, INPUTS)
    there = item < tl.load(turns) * (PARTS * SPLITS)
    entry, slot = entry_of(turns, item // (PARTS * SPLITS), num_entries)
    matrix = down_of(down, slot, stride, item, there, k, K, PARTS, SPLITS, RANK, INPUTS)
    if PDL:
        tl.extra.cuda.gdc_wait()
    if there:
        row, valid = rows_of(entry, num_entries, REPEAT, BRANCHES, ENTRY_ROWS)
        column = item % SPLITS * INPUTS + k
        inside = valid[:, None] & (column < K)[None, :]
        values = tl.load(x + row[:, None] * K + column[None, :], mask=inside, other=0.0)
        found = tl.dot(values, tl.trans(matrix), input_precision="tf32x3")
        which = (item % SPLITS * PARTS + item // SPLITS % PARTS) * num_entries + item // (PARTS * SPLITS)
        place = tl.arange(0, ENTRY_ROWS)[:, None] * RANK + tl.arange(0, RANK)[None, :]
        bits = found.to(tl.int32, bitcast=True)
        bits = tl.where(bits == 0, -(1 << 31), bits)  # a zero that is there is -0.0
        target = hidden + which.to(tl.int64) * (ENTRY_ROWS * RANK) + place
        tl.store(target, bits, mask=valid[:, None], cache_modifier=".wt")


@triton.jit
def lines_of(up, turns, turn, stride, num_entries, output, in_outputs, RANK: tl.constexpr):
    """The entry of a turn and the lines of `up` for outputs [BLOCK_N]: [BLOCK_N, RANK]."""
    there = turn < tl.load(turns)
    entry, slot = entry_of(turns, turn, num_entries)
    lines = up + slot.to(tl.int64) * stride + output[:, None] * RANK + tl.arange(0, RANK)[None, :]
    return entry, tl.load(lines, mask=in_outputs[:, None] & there, other=0.0)


@triton.jit
def given_to(
    hidden, part, turn, entry, num_entries, first_row,
    SPLITS: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr,
    BRANCHES: tl.constexpr, ENTRY_ROWS: tl.constexpr, BLOCK_M: tl.constexpr,
):  # fmt: skip
    """What the first programs give the rows of an entry from first_row on, once it is there: [RANK, BLOCK_M],
    else zeros."""
    row, r = first_row + tl.arange(0, BLOCK_M), tl.arange(0, RANK)
    member = row // (REPEAT * num_entries) * REPEAT + row % REPEAT
    mine = (row < BRANCHES * REPEAT * num_entries) & (row // REPEAT % num_entries == entry)
    source = hidden + (part * num_entries + turn).to(tl.int64) * (ENTRY_ROWS * RANK)
    source += member[None, :] * RANK + r[:, None]
    between = (PARTS * num_entries).to(tl.int64) * (ENTRY_ROWS * RANK)
    total = tl.zeros([RANK, BLOCK_M], tl.float32)
    lacks = 1
    while lacks > 0:
        missing = tl.zeros([RANK, BLOCK_M], tl.int32)
        total = tl.zeros([RANK, BLOCK_M], tl.float32)
        for split in tl.static_range(SPLITS):
            bits = tl.load(source + split * between, mask=mine[None, :], other=-(1 << 31), volatile=True)
            missing |= (bits == 0).to(tl.int32)
            total += bits.to(tl.float32, bitcast=True)
        lacks = tl.max(tl.max(missing, 1), 0)
    return total


@triton.jit
def with_given(
    added, lines, hidden, part, turn, entry, num_entries, first_row,
    SPLITS: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr,
    BRANCHES: tl.constexpr, ENTRY_ROWS: tl.constexpr,
):  # fmt: skip
    """A tile [outputs, rows from first_row on] with `lines` of `up` times what the first programs give it."""
    given = given_to(
        hidden, part, turn, entry, num_entries, first_row,
        SPLITS, PARTS, RANK, REPEAT, BRANCHES, ENTRY_ROWS, added.shape[1],
    )  # fmt: skip
    return added + tl.dot(lines, given.to(lines.dtype), input_precision="tf32x3")
