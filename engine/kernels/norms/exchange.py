"""Sums over the GPUs of one host in one kernel, and what follows them in a layer: the residual and a norm.

Every rank has a `Mailbox` that all can write into. Program r of the kernel writes its row r into each of
them, raises a flag there, waits until all ranks have done the same, and adds up the rows in the order of the
ranks, so that all have the same bits. A row's number rises with every exchange, and it has two places in
turn: who writes exchange n + 1 has seen all others begin n, so nobody reads n - 1 any more.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.norms.add_and_norm import row_offsets, row_spacing, store_with_norm
from engine.kernels.norms.norm import warps_of

ROW_BYTES = 1 << 14
"""Of a place."""
NEVER = torch.iinfo(torch.int64).max
"""A flag for which nobody waits any more."""
_INTEGERS = {torch.int64}


class Mailbox(NamedTuple):
    """What one rank knows. A mailbox is int64 flags [room, ranks], then places [2, room, ranks, ROW_BYTES].

    addresses: int64 [ranks], of all mailboxes as this rank reaches them. numbers: int64 [room], of the last
    exchange of each row. room: rows of an exchange.
    """

    rank: int
    addresses: Tensor
    numbers: Tensor

    @property
    def room(self) -> int:
        return len(self.numbers)

    @property
    def ranks(self) -> int:
        return len(self.addresses)

    def serves(self, rows: int, columns: int) -> bool:
        """Whether an exchange of so many rows and columns fits; as bf16, where it must."""
        return 0 < rows <= self.room and 0 < columns * 2 <= ROW_BYTES


def mailbox_bytes(room: int, ranks: int) -> int:
    return room * ranks * (8 + 2 * ROW_BYTES)


@triton.jit(do_not_specialize=["rank", "num_rows", "alpha", "eps", "inner"])
def exchange_kernel(
    partials, residual, norm, hidden, normed, addresses, numbers, rank, num_rows, alpha, eps,
    inner, outer_stride, row_stride, SIZE: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr,
    RANKS: tl.constexpr, ROOM: tl.constexpr, PLACE: tl.constexpr, WIRE: tl.constexpr, SUM: tl.constexpr,
    NORM: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program r: the sum over all ranks of row r of the partials, [PARTS, rows, SIZE] on each. Without NORM
    it is stored in `hidden`, else it goes on as in `add_and_norm_kernel`."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    mask = column < SIZE
    if NORM:
        scale = tl.load(norm + column, mask=mask, other=0.0)
    source = partials + row * SIZE + column
    if PDL:
        tl.extra.cuda.gdc_wait()
    own = tl.load(source, mask=mask, other=0).to(SUM)
    for part in tl.static_range(1, PARTS):
        own += tl.load(source + part * num_rows * SIZE, mask=mask, other=0).to(SUM)
    sent = own.to(WIRE)
    number = tl.load(numbers + row) + 1
    places = ROOM * RANKS * 8 + ((number % 2) * ROOM + row) * RANKS * PLACE
    for other in tl.static_range(RANKS):
        place = (tl.load(addresses + other) + places + rank * PLACE).to(tl.pointer_type(WIRE))
        tl.store(tl.multiple_of(place, 16) + column, sent, mask=mask)
    tl.debug_barrier()
    for other in tl.static_range(RANKS):
        flag = (tl.load(addresses + other) + (row * RANKS + rank) * 8).to(tl.pointer_type(tl.int64))
        tl.atomic_xchg(flag, number, sem="release", scope="sys")
    own_box = tl.load(addresses + rank)
    for other in tl.static_range(RANKS):
        flag = (own_box + (row * RANKS + other) * 8).to(tl.pointer_type(tl.int64))
        told = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
        while told < number:
            told = tl.atomic_add(flag, 0, sem="acquire", scope="sys")
    tl.debug_barrier()
    total = tl.zeros([BLOCK], SUM)
    for other in tl.static_range(RANKS):
        place = (own_box + places + other * PLACE).to(tl.pointer_type(WIRE))
        place = tl.multiple_of(place, 16) + column
        total += tl.load(place, mask=mask, other=0, volatile=True).to(SUM)
    tl.store(numbers + row, number)
    if NORM:
        beside = residual + row_offsets(row, inner, outer_stride, row_stride) + column
        values = tl.load(beside, mask=mask, other=0.0).to(tl.float32)
        hidden_row, normed_row = hidden + row * SIZE + column, normed + row * SIZE + column
        store_with_norm(values + alpha * total, scale, eps, hidden_row, normed_row, mask, SIZE)
    else:
        tl.store(hidden + row * SIZE + column, total.to(hidden.dtype.element_ty), mask=mask)


def exchange(mailbox: Mailbox, x: Tensor) -> Tensor:
    """The sum of x [rows, N] over all ranks, contiguous and of the same type: int64, or a type of floats."""
    x = x.contiguous()
    total = torch.empty_like(x)
    _launch(mailbox, x[None], None, None, total, None)
    return total


def exchange_add_and_norm(
    mailbox: Mailbox, partials: Tensor, residual: Tensor, norm: Tensor, eps: float, alpha: float = 1.0
) -> tuple[Tensor, Tensor]:
    """`add_and_norm` of the partials of all ranks, [parts, rows, H] on each, of any type of floats."""
    hidden, normed = (
        torch.empty(residual.shape, dtype=residual.dtype, device=residual.device) for _ in range(2)
    )
    _launch(mailbox, partials, residual, norm, hidden, normed, eps, alpha)
    return hidden, normed


def _launch(
    mailbox: Mailbox,
    partials: Tensor,
    residual: Tensor | None,
    norm: Tensor | None,
    hidden: Tensor,
    normed: Tensor | None,
    eps: float = 0.0,
    alpha: float = 1.0,
) -> None:
    parts, num_rows, size = partials.shape
    integers, narrow = partials.dtype in _INTEGERS, size * partials.element_size() > ROW_BYTES
    wire = tl.int64 if integers else tl.bfloat16 if narrow else _TYPES[partials.dtype]
    block = triton.next_power_of_2(size)
    evenly = (1, 0, 0) if residual is None else row_spacing(residual)
    kernel_on(partials.device, exchange_kernel)[(num_rows,)](
        partials, residual, norm, hidden, normed, mailbox.addresses, mailbox.numbers,
        mailbox.rank, num_rows, alpha, eps, *evenly,
        SIZE=size, PARTS=parts, BLOCK=block, RANKS=mailbox.ranks, ROOM=mailbox.room,
        PLACE=ROW_BYTES, WIRE=wire, SUM=tl.int64 if integers else tl.float32, NORM=norm is not None,
        num_warps=warps_of(block), **launch_options(partials.device),
    )  # fmt: skip


_TYPES = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}
