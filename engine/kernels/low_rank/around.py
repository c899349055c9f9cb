"""Low-rank additions around a product: y += up (down x), by a kernel before or beside it and one behind it.

Each entry of a batch may have another adapter. An entry is a stream, or a position of a prompt. The rows of
an entry stand together, in each of `branches` halves of the batch (guided and unguided rows of a flow). Rows
without an adapter are left as they are, in every bit.

    rows = LowRankRows(slots, turns, Zeros(device), branches=2)
    y = with_low_rank(lambda: F.linear(x, weight), x, rows)

Where the kernel behind the product reads it anyway, as norms and the gate do, what is added is left to that
one (`apart`): then both kernels go before the product or beside it, and none is behind.

`shrink` takes `down x` of parts of K, since one program would take longer for all of K than the product
takes, and `expand` adds them up and adds `up` times that to y. Where the kernel that makes the rows gives
`down` of them, too (`row_attention`), there is no `shrink`. They have as many programs as run side by
side and take turns (`turns_of`) at the entries that have an adapter, so that those without cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from engine.device.side_stream import SideStream
from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.low_rank.around_kernels import expand_kernel, shrink_kernel
from engine.kernels.low_rank.delta import Delta
from engine.kernels.low_rank.slots import LowRankRows

MIXED_ROWS = 64
"""Positions of prompts in a tile, whatever adapters they have; they come by the thousand."""
PROGRAMS = 528
"""So many run side by side on the devices this is made for."""
BESIDE_ROWS = 616
"""Up to so many a product of the matrix library leaves room on the device for these kernels. A layer of
the DiT of VoxCPM2 with 16 streams (352 rows), one of which has all layers, takes 14.5 us more than
without on an H200, and 21.2 if they always go before; with 28 streams (616 rows) 15.3 and 22.1, with 32
(704 rows) and as many adapters 52.8 and 49.6, with 64 and one of q, k, v and o 14.4 and 10.3. A step of
64 streams takes 6.4, 9.0 and 15.2 % longer with 1, 8 and 32 such if they go beside the language models'
products, of 64 rows, and 7.5, 9.6 and 16.2 % if not."""
FEW_ENTRIES, MANY_ENTRIES = 4, 17
_MATRIX_ELEMENTS, _ADDED_ELEMENTS = 16384, 8192
"""How many elements of `down` or `up`, and of what is added, a turn holds; half of that in fp32."""


@dataclass(frozen=True)
class LowRankTiling:
    """Elements of K, and outputs, that a turn takes."""

    inputs: int
    outputs: int
    warps: int = 4


def low_rank_tiling(num_entries: int) -> LowRankTiling:
    """Short turns: how long one takes is what a single adapter costs. Longer ones of many entries, since each
    reads anew what `down` gave: a layer of the language model of VoxCPM2 takes 6 us less on an H200 with
    turns of 256 outputs than with 128 if 32 of 64 streams have all layers, and no longer with one."""
    if num_entries <= FEW_ENTRIES:
        return LowRankTiling(256, 64)
    return LowRankTiling(256, 128 if num_entries < MANY_ENTRIES else 256)


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
    block_rows = MIXED_ROWS if mixed else rows.entry_rows(num_rows)
    num_turns = triton.cdiv(num_entries, MIXED_ROWS) if mixed else num_entries
    return _Launch(
        num_entries, num_turns, repeat, branches, block_rows, mixed, tiling or low_rank_tiling(num_turns)
    )


def with_low_rank(
    product: Callable[[], Tensor], x: Tensor, rows: LowRankRows, alpha: float = 1.0, beside: bool = False
) -> Tensor:
    """What `product` makes of x [..., K], contiguous, with alpha times what is added to it.

    beside: whether the product is one that leaves room for `shrink` if it has few rows.
    The result is contiguous, [..., N], or [parts, rows, N] of which the first part gets what is added.
    """
    num_rows = x.numel() // x.shape[-1]
    beside = beside and num_rows <= BESIDE_ROWS and rows.hidden is None
    with _beside(x.device, beside) as side:
        hidden = shrink(x, rows, side=side) if rows.hidden is None else rows.hidden
        y = product()
    expand_(y.view(-1, num_rows, y.shape[-1])[0], hidden, rows, alpha)
    return y


def apart(
    product: Callable[[], Tensor], x: Tensor, rows: LowRankRows, beside: bool = False
) -> tuple[Tensor, Delta]:
    """What `product` makes of x [..., K], contiguous, and what is to be added to it, made of x alone.

    beside: see `with_low_rank`.
    """
    num_rows = x.numel() // x.shape[-1]
    values = x.new_empty(num_rows, sum(rows.slots.place.outputs))
    with _beside(x.device, beside and num_rows <= BESIDE_ROWS) as side:
        hidden = shrink(x, rows, side=side)  # kept, or the product would be put where the other stream reads
        expand_(values, hidden, rows, add=False, side=side)
        y = product()
    return y, Delta(values, rows)


@contextmanager
def _beside(device: torch.device, beside: bool) -> Iterator[SideStream | None]:
    """The stream beside what is launched within, if that is wanted. It is joined at the end, before what it
    reads and writes is used for something else."""
    if not beside:
        yield None
        return
    side = _side(device)
    side.follow()
    try:
        yield side
    finally:
        side.join()


def _side(device: torch.device) -> SideStream:
    """Beside the current stream, of its priority, and nobody else's: it may be recording."""
    if device.type != "cuda":
        return SideStream(device, "low rank")
    current = torch.cuda.current_stream(device)
    return SideStream(device, f"low rank beside {current.cuda_stream}", current.priority)


def shrink(
    x: Tensor, rows: LowRankRows, tiling: LowRankTiling | None = None, side: SideStream | None = None
) -> Tensor:
    """What `down` of each entry's slot makes of x [..., K], contiguous, for `expand_` alone.

    side: where it is computed, once that follows the current stream; who expands it has joined that.
    Rows are branches * entries * (rows of an entry), in this order. Raises ValueError where they do not fit.
    """
    slots, place, rank = rows.slots, rows.slots.place, rows.slots.rank
    if x.shape[-1] != place.size or not x.is_contiguous():
        raise ValueError(f"rows {tuple(x.shape)} are not contiguous ones of {place.size}")
    launch = _launch_of(x.numel() // place.size, rows, tiling)
    parts = len(place.outputs)
    most = _elements(_MATRIX_ELEMENTS, x) // max(launch.block_rows, rank)
    inputs = max(16, min(launch.tiling.inputs, most, triton.next_power_of_2(place.size)))
    splits = triton.cdiv(place.size, inputs)
    hidden = torch.empty(
        splits, parts, launch.num_turns, launch.block_rows, rank, dtype=torch.float32, device=x.device
    )
    programs = min(PROGRAMS, launch.num_turns * parts * splits)
    with side.on() if side is not None else nullcontext():
        kernel_on(x.device, shrink_kernel)[(programs,)](
            x, slots.storage[0, place.down :], hidden, rows.turns, slots.storage.stride(0),
            launch.num_entries, launch.num_turns, K=place.size, PARTS=parts, RANK=rank, REPEAT=launch.repeat,
            BRANCHES=rows.branches, BLOCK_M=launch.block_rows, INPUTS=inputs, MIXED=launch.mixed,
            num_warps=launch.warps, num_stages=1, **_launched(x.device, side),
        )  # fmt: skip
    return hidden


def expand_(
    y: Tensor,
    hidden: Tensor,
    rows: LowRankRows,
    alpha: float = 1.0,
    tiling: LowRankTiling | None = None,
    add: bool = True,
    side: SideStream | None = None,
) -> None:
    """Add to y [..., N], contiguous, in place, alpha times what `up` makes of what `shrink` gave.

    add: else y gets that itself in the rows that have an adapter.
    side: see `shrink`.
    Raises ValueError where they do not fit.
    """
    slots, place = rows.slots, rows.slots.place
    num_outputs = sum(place.outputs)
    if y.shape[-1] != num_outputs or not y.is_contiguous():
        raise ValueError(f"rows {tuple(y.shape)} are not contiguous ones of {num_outputs}")
    launch = _launch_of(y.numel() // num_outputs, rows, tiling)
    most = min(
        _elements(_MATRIX_ELEMENTS, slots.storage) // slots.rank,
        _elements(_ADDED_ELEMENTS, y) // launch.block_rows,
    )
    block = min(launch.tiling.outputs, most)
    first, other = place.outputs[0], (place.outputs[1:] or (0,))[0]
    blocks = sum(triton.cdiv(part, block) for part in place.outputs)
    programs = min(PROGRAMS, launch.num_turns * blocks)
    with side.on() if side is not None else nullcontext():
        kernel_on(y.device, expand_kernel)[(programs,)](
            y, slots.storage[0, place.up :], hidden, rows.turns, slots.storage.stride(0), launch.num_entries,
            launch.num_turns, alpha, N=num_outputs, FIRST=first, OTHER=other, PARTS=len(place.outputs),
            SPLITS=len(hidden), RANK=slots.rank, REPEAT=launch.repeat, BRANCHES=rows.branches,
            BLOCK_M=launch.block_rows, BLOCK_N=block, BLOCKS=blocks, MIXED=launch.mixed, ADD=add,
            num_warps=launch.warps, num_stages=1, **_launched(y.device, side),
        )  # fmt: skip


def _elements(most: int, like: Tensor) -> int:
    return most if like.element_size() == 2 else most // 2


def _launched(device: torch.device, side: SideStream | None) -> dict[str, bool]:
    return launch_options(device) if side is None else {"PDL": False}
