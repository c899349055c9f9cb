"""Low-rank additions to linear layers, for some rows of a batch: y[rows] += up (down x[rows]).

What fine-tuning by LoRA learns of a layer is two thin matrices. Rows of one batch may have different ones, of
different ranks, or none:

    y = with_low_rank(layer(x), x, deltas.rows, deltas.weights, 0)

The function also runs inside TorchScript (`engine/cpu/scripting.py`), hence its plain arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor
from torch.nn import functional as F


class LowRank(NamedTuple):
    """down [R, in_features], up [out_features, R]; a scale is part of `up`."""

    down: Tensor
    up: Tensor


class LowRankPlace(NamedTuple):
    """Where the matrices of one product lie within a slot of the device, in elements, and their sizes.

    down: of the parts, one below the other, [parts, rank, size]; up: [sum of outputs, rank].
    outputs: of each part; all but the first are alike.
    """

    down: int
    up: int
    size: int
    outputs: tuple[int, ...]


def turns_of(slots: np.ndarray) -> np.ndarray:
    """In which order entries take their turns on a device that has adapters in slots.

    Those with the same one follow each other, those without have no turn.

    slots: int [N], -1 for an entry without. Returns int32 [1 + 4 N]: how many have one, these entries, and
    the slot of each, both filled up with what nobody reads; then of every entry its turn, -1 for none, and
    its slot.
    """
    order = np.argsort(np.where(slots < 0, np.iinfo(np.int32).max, slots), kind="stable")
    count = np.count_nonzero(slots >= 0)
    turn = np.full(len(slots), -1)
    turn[order[:count]] = np.arange(count)
    return np.concatenate([[count], order, slots[order], turn, slots]).astype(np.int32)


def spread_out(slots: Sequence[int]) -> list[int]:
    """An order of entries that suits products, whose tiles of rows take longer for each adapter that they
    have: entries with one stand evenly among the others, and those with the same one follow each other.

    slots: of entries, -1 for one without. Returns their indices; as they are where nobody has one.
    """
    if max(slots, default=-1) < 0:
        return list(range(len(slots)))
    adapted = sorted((i for i, slot in enumerate(slots) if slot >= 0), key=slots.__getitem__)
    count, others = len(slots), (i for i, slot in enumerate(slots) if slot < 0)
    places = {(2 * i + 1) * count // (2 * len(adapted)): entry for i, entry in enumerate(adapted)}
    return [places[place] if place in places else next(others) for place in range(count)]


def turns_size(num_entries: int) -> int:
    """The length of what `turns_of` gives."""
    return 1 + 4 * num_entries


def entries_of(turns_size: int) -> int:
    """The number of entries for which `turns_of` gives `turns_size` numbers."""
    return (turns_size - 1) // 4


class Deltas(NamedTuple):
    """What a list of adapters adds to the layers of one module.

    rows: of each adapter the rows (indices into the first dimension) that it serves, int64; None is all.
    weights: of each adapter down and up of every layer in turn; a layer without has down [0, in_features].
    """

    rows: list[Tensor | None]
    weights: list[list[Tensor]]


NOTHING = Deltas([], [])


def with_low_rank(
    y: Tensor,
    x: Tensor,
    rows: list[Tensor | None],
    weights: list[list[Tensor]],
    layer: int,
) -> Tensor:
    """y [N, ..., out_features] = W x of x [N, ..., in_features], with the additions of layer `layer`.

    `y` may be overwritten.
    """
    for i in range(len(rows)):
        down, up = weights[i][2 * layer], weights[i][2 * layer + 1]
        if down.shape[0] > 0:
            chosen = rows[i]
            if chosen is None:
                y = y.add_(F.linear(F.linear(x, down), up))
            else:
                y = y.index_add_(0, chosen, F.linear(F.linear(x[chosen], down), up))
    return y
