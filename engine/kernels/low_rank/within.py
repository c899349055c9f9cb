"""Low-rank additions within the kernel of the product that they belong to (`split_linear`), for few rows.

Two kernels more per product (`around`) take longer than the product of a single stream. Here
the first programs of the product's kernel `shrink`, one item each, while the others multiply; these wait for
them at the end, where they add `up` times what the first ones gave. The first programs are running before the
others, which is why nobody waits in vain. What they give is there when it is no longer the zero that stood
there before, bit by bit, so that it is waited for by reading it: no flag travels behind it. A program reads
what is given to all its rows at once, and has `up` of all entries by then.

    y = split_linear(x, weight, low_rank=LowRankRows(slots, turns, Zeros(device), branches=2))
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from engine.kernels.low_rank.slots import LowRankRows, down_of, entry_of, rows_of, turn_of

MAX_ENTRIES = 4
"""Programs hold `up` of all of them."""
_INPUTS, _WIDE_RANK, _WIDE_INPUTS = 512, 64, 256
"""Elements of K of an item, as many as registers hold: those who add read what all items give."""


def fits_within(rows: LowRankRows, num_rows: int, outputs: int) -> bool:
    """Whether programs of a product, of so many outputs each, add it themselves."""
    few = rows.num_entries <= MAX_ENTRIES and num_rows % (rows.branches * rows.num_entries) == 0
    return few and all(part % outputs == 0 for part in rows.slots.place.outputs)


def additions(rows: LowRankRows, num_rows: int) -> dict[str, Any]:
    """What `split_linear_kernel` is told. Raises ValueError where rows and entries do not fit."""
    slots, place, repeat = rows.slots, rows.slots.place, rows.repeat(num_rows)
    parts, rank = len(place.outputs), slots.rank
    most = _INPUTS if rank < _WIDE_RANK else _WIDE_INPUTS
    inputs = max(16, min(most, triton.next_power_of_2(place.size)))
    splits = triton.cdiv(place.size, inputs)
    entry_rows = rows.entry_rows(num_rows)
    return {
        "down": slots.storage[0, place.down :], "up": slots.storage[0, place.up :],
        "hidden": rows.zeros.take(splits, parts, rows.num_entries, entry_rows, rank),
        "turns": rows.turns, "slot_stride": slots.storage.stride(0),
        "num_entries": rows.num_entries, "ENTRIES": rows.num_entries, "RANK": rank, "PARTS": parts,
        "FIRST": place.outputs[0], "OTHER": (place.outputs[1:] or place.outputs)[0], "REPEAT": repeat,
        "BRANCHES": rows.branches, "ENTRY_ROWS": entry_rows, "INPUTS": inputs,
        "ITEMS": rows.num_entries * parts * splits,
    }  # fmt: skip


NO_ADDITIONS: dict[str, Any] = dict.fromkeys(
    ("down", "up", "hidden", "turns", "slot_stride", "num_entries")
) | dict.fromkeys(
    ("ENTRIES", "RANK", "PARTS", "FIRST", "OTHER", "REPEAT", "BRANCHES", "ENTRY_ROWS", "INPUTS", "ITEMS"), 0
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
    """The lines of a turn's `up` for outputs [BLOCK_N]: [BLOCK_N, RANK], zeros past the last turn."""
    there = turn < tl.load(turns)
    _, slot = entry_of(turns, turn, num_entries)
    lines = up + slot.to(tl.int64) * stride + output[:, None] * RANK + tl.arange(0, RANK)[None, :]
    return tl.load(lines, mask=in_outputs[:, None] & there, other=0.0)


@triton.jit
def turns_of_rows(
    turns, num_entries, first_row, REPEAT: tl.constexpr, BRANCHES: tl.constexpr, BLOCK_M: tl.constexpr
):  # fmt: skip
    """The turns of the entries of rows from first_row on, [BLOCK_M], -1 for none."""
    row = first_row + tl.arange(0, BLOCK_M)
    turn, _ = turn_of(turns, row // REPEAT % num_entries, num_entries)
    return tl.where(row < BRANCHES * REPEAT * num_entries, turn, -1)


@triton.jit
def _read(hidden, turn, num_entries, first_row, part,
          SPLITS: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr,
          ENTRY_ROWS: tl.constexpr):  # fmt: skip
    """What the first programs gave rows so far, [RANK, rows], zero where they give nothing, and for each of
    RANK whether something is missing."""
    row, r = first_row + tl.arange(0, turn.shape[0]), tl.arange(0, RANK)
    member = row // (REPEAT * num_entries) * REPEAT + row % REPEAT
    line = (part * num_entries + turn) * ENTRY_ROWS + member
    source = hidden + line.to(tl.int64)[None, :] * RANK + r[:, None]
    between = (PARTS * num_entries).to(tl.int64) * (ENTRY_ROWS * RANK)
    missing = tl.zeros([RANK, turn.shape[0]], tl.int32)
    total = tl.zeros([RANK, turn.shape[0]], tl.float32)
    for split in tl.static_range(SPLITS):
        bits = tl.load(source + split * between, mask=(turn >= 0)[None, :], other=-(1 << 31), volatile=True)
        missing |= (bits == 0).to(tl.int32)
        total += bits.to(tl.float32, bitcast=True)
    return total, tl.max(missing, 1)


@triton.jit
def given_to(
    hidden, turn, turn_tail, part, num_entries,
    SPLITS: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr,
    ENTRY_ROWS: tl.constexpr,
):  # fmt: skip
    """What the first programs give all rows of both tiles, once it is there: [RANK, rows] each. The second is
    the first where there is one tile."""
    total = tl.zeros([RANK, turn.shape[0]], tl.float32)
    total_tail = total
    if turn_tail is not None:
        total_tail = tl.zeros([RANK, turn_tail.shape[0]], tl.float32)
    lacks = 1
    while lacks > 0:
        total, missing = _read(
            hidden, turn, num_entries, 0, part, SPLITS, PARTS, RANK, REPEAT, ENTRY_ROWS
        )  # fmt: skip
        if turn_tail is not None:
            total_tail, missing_tail = _read(
                hidden, turn_tail, num_entries, turn.shape[0], part, SPLITS, PARTS, RANK, REPEAT, ENTRY_ROWS
            )  # fmt: skip
            missing = tl.maximum(missing, missing_tail)
        lacks = tl.max(missing, 0)
    return total, total_tail


@triton.jit
def with_given(added, lines, given, turn, ENTRIES: tl.constexpr):
    """A tile [outputs, rows] with `lines` of each turn's `up` times what is given to the turn's rows.

    Other rows get zeros times `lines`, which is nothing because slots hold finite numbers alone
    (`models/lora/bank.py`). To choose rows behind the product instead would take more registers.
    """
    for number in tl.static_range(ENTRIES):
        its = given
        if ENTRIES > 1:
            its = tl.where((turn == number)[None, :], given, 0.0)
        added += tl.dot(lines[number], its.to(lines[number].dtype), input_precision="tf32x3")
    return added
