"""Where the matrices of adapters lie, who has which, and how kernels find them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.layers.low_rank import LowRankPlace, entries_of

_ZEROS = 1 << 20
"""How many zeros are made at once."""
_ALIGNED = 4
"""Kernels are compiled anew for addresses that are not multiples of 16 bytes."""


_SIGNALS, HIDDEN = 1024, 1 << 15
"""How many there are, and how many numbers of `down x` of all rows a product of single rows may have."""


class Signals(NamedTuple):
    """By which programs of the kernels in `engine.kernels.hopper` tell each other what is there. They leave
    them as they want to find them.

    Attributes:
        turns: int32 [1024], of `linear`.
        launches, hidden: int32 [2] and [2, HIDDEN], of `row_linear`; hidden is bits of floats.
    """

    turns: Tensor
    launches: Tensor
    hidden: Tensor


def signals(device: torch.device) -> Signals:
    """Those of launches that follow each other, on one stream."""
    sizes = ((_SIGNALS,), (2,), (2, HIDDEN))
    return Signals(*(torch.zeros(size, dtype=torch.int32, device=device) for size in sizes))


@dataclass(frozen=True)
class LowRankSlots:
    """The matrices of one product in all slots of storage [slots, elements].

    signals: of the launches that read them, one after the other; None: none that `engine.kernels.hopper`
        wants.
    """

    storage: Tensor
    place: LowRankPlace
    rank: int
    signals: Signals | None = None


class Zeros:
    """Zeros of a step, by which programs of its kernels tell what is there already."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._zeros, self._taken = torch.empty(0), 0

    def take(self, *shape: int) -> Tensor:
        """int32, for one kernel."""
        count = math.prod(shape)
        if self._taken + count > len(self._zeros):
            size = max(count, _ZEROS)
            self._zeros, self._taken = torch.zeros(size, dtype=torch.int32, device=self._device), 0
        taken = self._zeros[self._taken : self._taken + count]
        self._taken += -(-count // _ALIGNED) * _ALIGNED
        return taken.view(shape)


@dataclass(frozen=True)
class LowRankRows:
    """What the entries of a batch add to one product. turns: see `engine.layers.low_rank.turns_of`.

    hidden: what `down` makes of the rows, as `around.shrink` gives it, where the kernel that made them knows.
    """

    slots: LowRankSlots
    turns: Tensor
    zeros: Zeros
    branches: int = 1
    hidden: Tensor | None = None

    @property
    def num_entries(self) -> int:
        return entries_of(len(self.turns))

    def with_hidden(self, hidden: Tensor) -> LowRankRows:
        return replace(self, hidden=hidden)

    def entry_rows(self, num_rows: int) -> int:
        """Rows of an entry in all branches, as many as a product wants."""
        return max(16, triton.next_power_of_2(self.branches * self.repeat(num_rows)))

    def repeat(self, num_rows: int) -> int:
        """Rows of an entry in a branch. Raises ValueError where so many rows do not fit the entries."""
        repeat, left = divmod(num_rows, self.branches * self.num_entries)
        if left:
            raise ValueError(
                f"{num_rows} rows are not {self.branches} times those of {self.num_entries} entries"
            )
        return repeat


@triton.jit
def entry_of(turns, turn, num_entries):
    """The entry of a turn and its slot. Past the last turn they are what nobody reads, and nobody had to wait
    for the number of turns to load them."""
    there = turn < num_entries
    entry = tl.load(turns + 1 + turn, mask=there, other=0)
    return entry, tl.load(turns + 1 + num_entries + turn, mask=there, other=0)


@triton.jit
def turn_of(turns, entry, num_entries):
    """The turn of an entry, -1 for none, and its slot."""
    turn = tl.load(turns + 1 + 2 * num_entries + entry)
    return turn, tl.load(turns + 1 + 3 * num_entries + entry)


@triton.jit
def rows_of(entry, num_entries, REPEAT: tl.constexpr, BRANCHES: tl.constexpr, BLOCK_M: tl.constexpr):
    """The rows of an entry in all branches, [BLOCK_M], and which of them there are."""
    member = tl.arange(0, BLOCK_M)
    row = (member // REPEAT * num_entries + entry) * REPEAT + member % REPEAT
    return row.to(tl.int64), member < BRANCHES * REPEAT


@triton.jit
def down_of(down, slot, stride, item, there, k, K: tl.constexpr, PARTS: tl.constexpr, SPLITS: tl.constexpr,
             RANK: tl.constexpr, INPUTS: tl.constexpr):  # fmt: skip
    """The part of `down` that an item multiplies with, [RANK, INPUTS]."""
    column = item % SPLITS * INPUTS + k
    matrix = down + slot.to(tl.int64) * stride + item // SPLITS % PARTS * RANK * K
    inside = there & (column < K)
    return tl.load(
        matrix + (tl.arange(0, RANK)[:, None] * K + column[None, :]), mask=inside[None, :], other=0.0
    )
