"""The two kernels around a product, see `around`."""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.low_rank.slots import down_of, entry_of, rows_of


@triton.jit
def _tile_of(turns, tile, num_entries, count, BLOCK_M: tl.constexpr):
    """The rows of a tile of positions, and their slots, [BLOCK_M]; -1 beyond the last."""
    place = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    there = place < count
    row = tl.load(turns + 1 + place, mask=there, other=0)
    return row.to(tl.int64), tl.load(turns + 1 + num_entries + place, mask=there, other=-1)


@triton.jit(do_not_specialize=["num_entries", "num_turns"])
def shrink_kernel(
    x, down, hidden, turns, slot_stride, num_entries, num_turns,
    K: tl.constexpr, PARTS: tl.constexpr, RANK: tl.constexpr, REPEAT: tl.constexpr, BRANCHES: tl.constexpr,
    BLOCK_M: tl.constexpr, INPUTS: tl.constexpr, MIXED: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """hidden [SPLITS, PARTS, num_turns, BLOCK_M, RANK], fp32, of rows x [..., K]: of a turn at entry i what
    INPUTS elements of K make with `down` of a part. turns: see `turns_of`; nobody writes them meanwhile.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    SPLITS: tl.constexpr = (K + INPUTS - 1) // INPUTS
    r, k, member = tl.arange(0, RANK), tl.arange(0, INPUTS), tl.arange(0, BLOCK_M)
    place = member[:, None] * RANK + r[None, :]
    stride, item = slot_stride.to(tl.int64), tl.program_id(0)
    count = tl.load(turns)
    if MIXED:
        if PDL:
            tl.extra.cuda.gdc_wait()
        while item < (count + BLOCK_M - 1) // BLOCK_M * (PARTS * SPLITS):
            tile = item // (PARTS * SPLITS)
            row, slots = _tile_of(turns, tile, num_entries, count, BLOCK_M)
            column = item % SPLITS * INPUTS + k
            inside = (slots >= 0)[:, None] & (column < K)[None, :]
            values = tl.load(x + row[:, None] * K + column[None, :], mask=inside, other=0.0)
            found = tl.zeros([BLOCK_M, RANK], tl.float32)
            slot = tl.max(slots, 0)
            while slot >= 0:
                matrix = down_of(down, slot, stride, item, True, k, K, PARTS, SPLITS, RANK, INPUTS)
                made = tl.dot(values, tl.trans(matrix), input_precision="tf32x3")
                found = tl.where((slots == slot)[:, None], made, found)
                slots = tl.where(slots == slot, -1, slots)
                slot = tl.max(slots, 0)
            which = item % SPLITS * PARTS + item // SPLITS % PARTS
            tl.store(hidden + (which * num_turns + tile).to(tl.int64) * (BLOCK_M * RANK) + place, found)
            item += tl.num_programs(0)
    else:
        items = count * (PARTS * SPLITS)
        entry, slot = entry_of(turns, item // (PARTS * SPLITS), num_entries)
        matrix = down_of(down, slot, stride, item, item < items, k, K, PARTS, SPLITS, RANK, INPUTS)
        if PDL:
            tl.extra.cuda.gdc_wait()
        while item < items:
            row, valid = rows_of(entry, num_entries, REPEAT, BRANCHES, BLOCK_M)
            column = item % SPLITS * INPUTS + k
            inside = valid[:, None] & (column < K)[None, :]
            values = tl.load(x + row[:, None] * K + column[None, :], mask=inside, other=0.0)
            found = tl.dot(values, tl.trans(matrix), input_precision="tf32x3")
            which = item % SPLITS * PARTS + item // SPLITS % PARTS
            target = hidden + (which * num_turns + item // (PARTS * SPLITS)).to(tl.int64) * (BLOCK_M * RANK)
            tl.store(target + place, found)
            item += tl.num_programs(0)
            entry, slot = entry_of(turns, item // (PARTS * SPLITS), num_entries)
            matrix = down_of(down, slot, stride, item, item < items, k, K, PARTS, SPLITS, RANK, INPUTS)


@triton.jit
def _outputs_of(block, FIRST: tl.constexpr, OTHER: tl.constexpr, BLOCK_N: tl.constexpr):
    """The part of a block of outputs, the outputs, [BLOCK_N], and which of them are the part's."""
    FIRST_BLOCKS: tl.constexpr = (FIRST + BLOCK_N - 1) // BLOCK_N
    OTHER_BLOCKS: tl.constexpr = (OTHER + BLOCK_N - 1) // BLOCK_N if OTHER else 1
    later = tl.maximum(block - FIRST_BLOCKS, 0)
    part = tl.where(block < FIRST_BLOCKS, 0, 1 + later // OTHER_BLOCKS)
    begin = tl.where(part == 0, 0, FIRST + (part - 1) * OTHER)
    end = begin + tl.where(part == 0, FIRST, OTHER)
    first = begin + tl.where(part == 0, block, later % OTHER_BLOCKS) * BLOCK_N
    output = first + tl.arange(0, BLOCK_N)
    return part, output, output < end


@triton.jit
def _up_of(up, slot, stride, output, there, RANK: tl.constexpr):
    """The lines of `up` for some outputs, [BLOCK_N, RANK]."""
    matrix = up + slot.to(tl.int64) * stride
    return tl.load(
        matrix + (output[:, None] * RANK + tl.arange(0, RANK)[None, :]), mask=there[:, None], other=0.0
    )


@triton.jit
def _given_by(hidden, part, turn, num_turns, PARTS: tl.constexpr, SPLITS: tl.constexpr, BLOCK_M: tl.constexpr,
              RANK: tl.constexpr):  # fmt: skip
    """The sum over SPLITS of what `shrink` gave a turn, [BLOCK_M, RANK]."""
    place = tl.arange(0, BLOCK_M)[:, None] * RANK + tl.arange(0, RANK)[None, :]
    source = hidden + (part * num_turns + turn).to(tl.int64) * (BLOCK_M * RANK) + place
    between = (PARTS * num_turns).to(tl.int64) * (BLOCK_M * RANK)
    total = tl.load(source)
    for split in tl.static_range(1, SPLITS):
        total += tl.load(source + split * between)
    return total


@triton.jit(do_not_specialize=["num_entries", "num_turns", "alpha"])
def expand_kernel(
    y, up, hidden, turns, slot_stride, num_entries, num_turns, alpha,
    N: tl.constexpr, FIRST: tl.constexpr, OTHER: tl.constexpr, PARTS: tl.constexpr, SPLITS: tl.constexpr,
    RANK: tl.constexpr, REPEAT: tl.constexpr, BRANCHES: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCKS: tl.constexpr, MIXED: tl.constexpr, ADD: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """y [..., N] += alpha * up * the sum of hidden over SPLITS, in turns at BLOCK_N outputs of an entry.

    Without ADD y is not read.

    FIRST, OTHER: outputs of the first part and of each of the others, in BLOCKS blocks all together.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    stride, item = slot_stride.to(tl.int64), tl.program_id(0)
    count = tl.load(turns)
    if MIXED:
        if PDL:
            tl.extra.cuda.gdc_wait()
        while item < (count + BLOCK_M - 1) // BLOCK_M * BLOCKS:
            part, output, in_part = _outputs_of(item % BLOCKS, FIRST, OTHER, BLOCK_N)
            row, slots = _tile_of(turns, item // BLOCKS, num_entries, count, BLOCK_M)
            target = y + row[:, None] * N + output[None, :]
            written = (slots >= 0)[:, None] & in_part[None, :]
            total = _given_by(hidden, part, item // BLOCKS, num_turns, PARTS, SPLITS, BLOCK_M, RANK)
            given = (total * alpha).to(up.dtype.element_ty)
            added = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            slot = tl.max(slots, 0)
            while slot >= 0:
                matrix = _up_of(up, slot, stride, output, in_part, RANK)
                made = tl.dot(given, tl.trans(matrix), input_precision="tf32x3")
                added = tl.where((slots == slot)[:, None], made, added)
                slots = tl.where(slots == slot, -1, slots)
                slot = tl.max(slots, 0)
            if ADD:
                added += tl.load(target, mask=written, other=0.0).to(tl.float32)
            tl.store(target, added.to(y.dtype.element_ty), mask=written)
            item += tl.num_programs(0)
    else:
        items = count * BLOCKS
        entry, slot = entry_of(turns, item // BLOCKS, num_entries)
        part, output, in_part = _outputs_of(item % BLOCKS, FIRST, OTHER, BLOCK_N)
        matrix = _up_of(up, slot, stride, output, in_part & (item < items), RANK)
        if PDL:
            tl.extra.cuda.gdc_wait()
        while item < items:
            row, valid = rows_of(entry, num_entries, REPEAT, BRANCHES, BLOCK_M)
            target = y + row[:, None] * N + output[None, :]
            written = valid[:, None] & in_part[None, :]
            if ADD:
                before = tl.load(target, mask=written, other=0.0).to(tl.float32)
            total = _given_by(hidden, part, item // BLOCKS, num_turns, PARTS, SPLITS, BLOCK_M, RANK)
            given = (total * alpha).to(up.dtype.element_ty)
            added = tl.dot(given, tl.trans(matrix), input_precision="tf32x3")
            if ADD:
                added += before
            tl.store(target, added.to(y.dtype.element_ty), mask=written)
            item += tl.num_programs(0)
            entry, slot = entry_of(turns, item // BLOCKS, num_entries)
            part, output, in_part = _outputs_of(item % BLOCKS, FIRST, OTHER, BLOCK_N)
            matrix = _up_of(up, slot, stride, output, in_part & (item < items), RANK)
