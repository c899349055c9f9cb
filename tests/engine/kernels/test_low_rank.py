"""What adapters add to a product, in Triton's interpreter, against the plain products."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.kernels.low_rank import LowRankSlots, LowRankTiling, expand_, shrink
from engine.layers.low_rank import LowRankPlace, turns_of

BEFORE = 64
"""Elements of a slot before the product's own."""
SMALL = LowRankTiling(inputs=32, outputs=16)


def added(weights: LowRankSlots, slots: Tensor, x: Tensor, branches: int) -> Tensor:
    """By plain products, row by row: [rows, N]."""
    place, rank = weights.place, weights.rank
    parts = len(place.outputs)
    of_row = slots.repeat_interleave(len(x) // branches // len(slots)).repeat(branches)
    result = torch.zeros(len(x), sum(place.outputs))
    for row, slot in enumerate(of_row.tolist()):
        if slot >= 0:
            storage = weights.storage[slot]
            downs = storage[place.down : place.up].view(parts, rank, place.size)
            ups = storage[place.up : place.up + sum(place.outputs) * rank].view(-1, rank)
            pairs = zip(downs, ups.split(place.outputs), strict=True)
            result[row] = torch.cat([up @ (down @ x[row]) for down, up in pairs])
    return result


@pytest.mark.parametrize("tiling", [None, SMALL], ids=["chosen", "small"])
@pytest.mark.parametrize(
    ("outputs", "size", "rank", "branches", "repeat", "slots"),
    [
        ((48, 16, 16), 64, 16, 1, 1, [2]),
        ((48, 16, 16), 80, 32, 2, 11, [1, -1, 2, 1]),
        ((100,), 300, 16, 2, 4, [0, -1]),
        ((70, 70), 64, 128, 1, 1, [0, -1, 2, 1, 1]),
        ((40, 24, 24), 48, 16, 1, 1, [0] * 30 + [-1] * 20 + [2] * 5 + [1] * 20),
    ],
    ids=["one", "rows of patches", "one part", "two parts", "prompts"],
)
def test_rows_get_what_their_slot_adds_and_others_keep_every_bit(
    outputs: tuple[int, ...],
    size: int,
    rank: int,
    branches: int,
    repeat: int,
    slots: list[int],
    tiling: LowRankTiling | None,
) -> None:
    torch.manual_seed(1)
    up = BEFORE + len(outputs) * rank * size
    storage = torch.randn(3, up + sum(outputs) * rank)
    weights = LowRankSlots(storage, LowRankPlace(BEFORE, up, size, outputs), rank)
    of_entry = torch.tensor(slots, dtype=torch.int32)
    rows = branches * len(slots) * repeat
    x, y = torch.randn(rows, size) / size**0.5, torch.randn(rows, sum(outputs))
    before, expected = y.clone(), added(weights, of_entry, x, branches)
    turns = torch.from_numpy(turns_of(of_entry.numpy()))
    hidden = shrink(x, weights, turns, branches, tiling)
    expand_(y, hidden, weights, turns, branches, 0.5, tiling)
    torch.testing.assert_close(y, before + 0.5 * expected, atol=2e-5, rtol=1e-5)
    without = of_entry.repeat_interleave(repeat).repeat(branches) < 0
    assert torch.equal(y[without], before[without])


def test_tensors_that_do_not_fit_are_refused() -> None:
    weights = LowRankSlots(torch.zeros(1, 16 * 32 + 8 * 16), LowRankPlace(0, 16 * 32, 32, (8,)), 16)
    turns = torch.from_numpy(turns_of(np.array([0, 0])))
    with pytest.raises(ValueError, match="3 rows are not 1 times those of 2 entries"):
        shrink(torch.zeros(3, 32), weights, turns)
    with pytest.raises(ValueError, match="contiguous ones of 32"):
        shrink(torch.zeros(2, 31), weights, turns)
    hidden = shrink(torch.zeros(2, 32), weights, turns)
    with pytest.raises(ValueError, match="contiguous ones of 8"):
        expand_(torch.zeros(2, 16)[:, ::2], hidden, weights, turns)


def test_entries_with_the_same_adapter_take_turns_one_after_the_other() -> None:
    turns = turns_of(np.array([-1, 2, 0, -1, 2]))
    assert turns.dtype == np.int32 and len(turns) == 11
    assert turns[0] == 3 and turns[1:4].tolist() == [2, 1, 4] and turns[6:9].tolist() == [0, 2, 2]
