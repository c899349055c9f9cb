"""Low-rank additions around a product: y += up (down x), by a kernel before it and one behind it.

Each entry of a batch may have another adapter. An entry is a stream, or a position of a prompt. The rows of
an entry stand together, in each of `branches` halves of the batch (guided and unguided rows of a flow). Rows
without an adapter are left as they are, in every bit.

    rows = LowRankRows(slots, turns, Counters(device), branches=2)
    y = with_low_rank(lambda: F.linear(x, weight), x, rows)

`shrink` takes `down x` of parts of K, since one program would take longer for all of K than the product
takes, and `expand` adds them up and adds `up` times that to y. They have as many programs as run side by
side and take turns (`turns_of`) at the entries that have an adapter, so that those without cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.low_rank.slots import LowRankRows, down_of, entry_of, rows_of

MIXED_ROWS = 64
"""Of positions of prompts, which come by the thousand, so many are a tile, whatever adapters they have."""
PROGRAMS = 528
"""So many run side by side on the devices this is made for."""
FEW_ENTRIES = 4
_DOWN_ELEMENTS = 16384
"""Of `down` at a time; half of it in fp32."""


@dataclass(frozen=True)
class LowRankTiling:
    """Elements of K, and outputs, that a turn takes."""

    inputs: int
    outputs: int
    warps: int = 4


def low_rank_tiling(num_entries: int) -> LowRankTiling:
    """Many short turns where there are few entries."""
    return LowRankTiling(256, 64) if num_entries <= FEW_ENTRIES else LowRankTiling(512, 128)


@triton.jit
def _tile_of(turns, tile, num_entries, count, BLOCK_M: tl.constexpr):
    """Of a tile of positions the rows and their slots, [BLOCK_M]; -1 beyond the last."""
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
        entry, slot = entry_of(turns, item // (PARTS * SPLITS), num_entries, item < items)
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
            entry, slot = entry_of(turns, item // (PARTS * SPLITS), num_entries, item < items)
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
    BLOCK_N: tl.constexpr, BLOCKS: tl.constexpr, MIXED: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """y [..., N] += alpha * up * the sum of hidden over SPLITS, in turns at BLOCK_N outputs of an entry.

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
            added += tl.load(target, mask=written, other=0.0).to(tl.float32)
            tl.store(target, added.to(y.dtype.element_ty), mask=written)
            item += tl.num_programs(0)
    else:
        items = count * BLOCKS
        entry, slot = entry_of(turns, item // BLOCKS, num_entries, item < items)
        part, output, in_part = _outputs_of(item % BLOCKS, FIRST, OTHER, BLOCK_N)
        matrix = _up_of(up, slot, stride, output, in_part & (item < items), RANK)
        if PDL:
            tl.extra.cuda.gdc_wait()
        while item < items:
            row, valid = rows_of(entry, num_entries, REPEAT, BRANCHES, BLOCK_M)
            target = y + row[:, None] * N + output[None, :]
            written = valid[:, None] & in_part[None, :]
            before = tl.load(target, mask=written, other=0.0).to(tl.float32)
            total = _given_by(hidden, part, item // BLOCKS, num_turns, PARTS, SPLITS, BLOCK_M, RANK)
            given = (total * alpha).to(up.dtype.element_ty)
            added = before + tl.dot(given, tl.trans(matrix), input_precision="tf32x3")
            tl.store(target, added.to(y.dtype.element_ty), mask=written)
            item += tl.num_programs(0)
            entry, slot = entry_of(turns, item // BLOCKS, num_entries, item < items)
            part, output, in_part = _outputs_of(item % BLOCKS, FIRST, OTHER, BLOCK_N)
            matrix = _up_of(up, slot, stride, output, in_part & (item < items), RANK)


@dataclass(frozen=True)
class _Launch:
    """What both kernels are told of a batch."""

    num_entries: int
    num_turns: int
    repeat: int
    branches: int
    block_rows: int
    mixed: bool
    tiling: LowRankTiling

    @property
    def warps(self) -> int:
        return 2 * self.tiling.warps if self.mixed else self.tiling.warps


def _launch_of(num_rows: int, rows: LowRankRows, tiling: LowRankTiling | None) -> _Launch:
    """Raises ValueError where rows and entries do not fit each other."""
    num_entries, branches, repeat = rows.num_entries, rows.branches, rows.repeat(num_rows)
    mixed = repeat == branches == 1 and num_entries > MIXED_ROWS
    block_rows = MIXED_ROWS if mixed else max(16, triton.next_power_of_2(repeat * branches))
    num_turns = triton.cdiv(num_entries, MIXED_ROWS) if mixed else num_entries
    return _Launch(
        num_entries, num_turns, repeat, branches, block_rows, mixed, tiling or low_rank_tiling(num_turns)
    )


def with_low_rank(product: Callable[[], Tensor], x: Tensor, rows: LowRankRows, alpha: float = 1.0) -> Tensor:
    """What `product` makes of x [..., K], contiguous, with alpha times what is added to it.

    The result is contiguous, [..., N], or [parts, rows, N] of which the first part gets what is added.
    """
    hidden = shrink(x, rows)
    y = product()
    expand_(y.view(-1, x.numel() // x.shape[-1], y.shape[-1])[0], hidden, rows, alpha)
    return y


def shrink(x: Tensor, rows: LowRankRows, tiling: LowRankTiling | None = None) -> Tensor:
    """What `down` of each entry's slot makes of x [..., K], contiguous, for `expand_` alone.

    Rows are branches * entries * (rows of an entry), in this order. Raises ValueError where they do not fit.
    """
    slots, place, rank = rows.slots, rows.slots.place, rows.slots.rank
    if x.shape[-1] != place.size or not x.is_contiguous():
        raise ValueError(f"rows {tuple(x.shape)} are not contiguous ones of {place.size}")
    launch = _launch_of(x.numel() // place.size, rows, tiling)
    parts = len(place.outputs)
    most = _DOWN_ELEMENTS * (1 if x.element_size() == 2 else 0.5) // max(launch.block_rows, rank)
    inputs = max(16, min(launch.tiling.inputs, int(most), triton.next_power_of_2(place.size)))
    splits = triton.cdiv(place.size, inputs)
    hidden = torch.empty(
        splits, parts, launch.num_turns, launch.block_rows, rank, dtype=torch.float32, device=x.device
    )
    programs = min(PROGRAMS, launch.num_turns * parts * splits)
    kernel_on(x.device, shrink_kernel)[(programs,)](
        x, slots.storage[0, place.down :], hidden, rows.turns, slots.storage.stride(0), launch.num_entries,
        launch.num_turns, K=place.size, PARTS=parts, RANK=rank, REPEAT=launch.repeat, BRANCHES=rows.branches,
        BLOCK_M=launch.block_rows, INPUTS=inputs,
        MIXED=launch.mixed, num_warps=launch.warps, num_stages=1,
        **launch_options(x.device),
    )  # fmt: skip
    return hidden


def expand_(
    y: Tensor,
    hidden: Tensor,
    rows: LowRankRows,
    alpha: float = 1.0,
    tiling: LowRankTiling | None = None,
) -> None:
    """Add to y [..., N], contiguous, in place, alpha times what `up` makes of what `shrink` gave.

    Raises ValueError where they do not fit.
    """
    slots, place = rows.slots, rows.slots.place
    num_outputs = sum(place.outputs)
    if y.shape[-1] != num_outputs or not y.is_contiguous():
        raise ValueError(f"rows {tuple(y.shape)} are not contiguous ones of {num_outputs}")
    launch = _launch_of(y.numel() // num_outputs, rows, tiling)
    block = launch.tiling.outputs
    first, other = place.outputs[0], (place.outputs[1:] or (0,))[0]
    blocks = sum(triton.cdiv(part, block) for part in place.outputs)
    programs = min(PROGRAMS, launch.num_turns * blocks)
    kernel_on(y.device, expand_kernel)[(programs,)](
        y, slots.storage[0, place.up :], hidden, rows.turns, slots.storage.stride(0), launch.num_entries,
        launch.num_turns, alpha, N=num_outputs, FIRST=first, OTHER=other, PARTS=len(place.outputs),
        SPLITS=len(hidden), RANK=slots.rank, REPEAT=launch.repeat, BRANCHES=rows.branches,
        BLOCK_M=launch.block_rows, BLOCK_N=block, BLOCKS=blocks, MIXED=launch.mixed,
        num_warps=launch.warps, num_stages=1, **launch_options(y.device),
    )  # fmt: skip
