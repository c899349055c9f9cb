"""What adapters add to a product, in Triton's interpreter, against the plain products."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.kernels.activation import silu_mul
from engine.kernels.linear.split_linear import adds_itself, partial_linear, split_linear
from engine.kernels.low_rank.around import LowRankTiling, apart, expand_, shrink, with_low_rank
from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.row_attention import RowLaunch, row_attention, row_attention_and_shrink, shrinks
from engine.layers.low_rank import LowRankPlace, entries_of, spread_out, turns_of, turns_size

BEFORE = 64
"""Elements of a slot before the product's own."""
CPU = torch.device("cpu")
SMALL = LowRankTiling(inputs=32, outputs=16)


def adapted(
    outputs: tuple[int, ...], size: int, rank: int, slots: list[int], branches: int = 1
) -> tuple[LowRankRows, Tensor]:
    """Rows of entries with these slots of three, and the slots, int32 [entries]."""
    torch.manual_seed(1)
    up = BEFORE + len(outputs) * rank * size
    storage = torch.randn(3, up + sum(outputs) * rank)
    weights = LowRankSlots(storage, LowRankPlace(BEFORE, up, size, outputs), rank)
    of_entry = torch.tensor(slots, dtype=torch.int32)
    turns = torch.from_numpy(turns_of(of_entry.numpy()))
    return LowRankRows(weights, turns, Zeros(CPU), branches), of_entry


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
    rows, of_entry = adapted(outputs, size, rank, slots, branches)
    count = branches * len(slots) * repeat
    x, y = torch.randn(count, size) / size**0.5, torch.randn(count, sum(outputs))
    before, expected = y.clone(), added(rows.slots, of_entry, x, branches)
    expand_(y, shrink(x, rows, tiling), rows, 0.5, tiling)
    torch.testing.assert_close(y, before + 0.5 * expected, atol=2e-5, rtol=1e-5)
    without = of_entry.repeat_interleave(repeat).repeat(branches) < 0
    assert torch.equal(y[without], before[without])


@pytest.mark.parametrize("streams", [2, 6])
def test_the_first_part_of_a_product_gets_what_is_added(streams: int) -> None:
    rows, of_entry = adapted((32,), 48, 16, [i % 4 - 1 for i in range(streams)], 2)
    x, weight = torch.randn(2 * streams * 3, 48), torch.randn(32, 48)
    expected = added(rows.slots, of_entry, x, 2)
    for beside in (False, True):
        found = with_low_rank(lambda: x @ weight.T, x, rows, beside=beside)
        torch.testing.assert_close(found, x @ weight.T + expected, atol=2e-5, rtol=1e-5)
    parts = torch.randn(2, len(x), 32)
    before = parts.clone()
    found = with_low_rank(lambda: parts, x, rows, 0.5)[0]
    torch.testing.assert_close(found, before[0] + 0.5 * expected, atol=2e-5, rtol=1e-5)
    assert torch.equal(parts[1], before[1])


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("branches", "repeat", "slots"),
    [(2, 3, [1, -1]), (1, 1, [2, 0, -1, 1, 1]), (1, 1, [0] * 30 + [-1] * 20 + [2] * 20)],
    ids=["rows of patches", "streams", "prompts"],
)
def test_the_kernel_behind_a_product_adds_what_is_left_to_it(
    branches: int, repeat: int, slots: list[int], beside: bool
) -> None:
    rows, of_entry = adapted((24, 24), 40, 16, slots, branches)
    x = torch.randn(branches * len(slots) * repeat, 40) / 40**0.5
    weight = torch.randn(48, 40)
    plain, expected = x @ weight.T, added(rows.slots, of_entry, x, branches)
    y, delta = apart(lambda: x @ weight.T, x, rows, beside)
    assert torch.equal(y, plain)
    without = of_entry.repeat_interleave(repeat).repeat(branches) < 0
    gate, up = (plain + expected).chunk(2, dim=-1)
    found = silu_mul(y, delta)
    torch.testing.assert_close(found, torch.nn.functional.silu(gate) * up, atol=2e-5, rtol=1e-5)
    assert torch.equal(found[without], silu_mul(y)[without])
    parts, residual, norm = torch.stack((y, torch.randn_like(y))), torch.randn_like(y), torch.randn(48)
    hidden, normed = add_and_norm(parts, residual, norm, 1e-5, 0.5, delta)
    exact = residual + 0.5 * (parts.sum(0) + expected)
    torch.testing.assert_close(hidden, exact, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(
        normed, torch.nn.functional.rms_norm(exact, (48,), norm, 1e-5), atol=2e-5, rtol=1e-5
    )
    for one, other in zip(add_and_norm(parts, residual, norm, 1e-5, 0.5), (hidden, normed), strict=True):
        assert torch.equal(one[without], other[without])


def test_tensors_that_do_not_fit_are_refused() -> None:
    rows, _ = adapted((8,), 32, 16, [0, 0])
    with pytest.raises(ValueError, match="3 rows are not 1 times those of 2 entries"):
        shrink(torch.zeros(3, 32), rows)
    with pytest.raises(ValueError, match="contiguous ones of 32"):
        shrink(torch.zeros(2, 31), rows)
    hidden = shrink(torch.zeros(2, 32), rows)
    with pytest.raises(ValueError, match="contiguous ones of 8"):
        expand_(torch.zeros(2, 16)[:, ::2], hidden, rows)


def test_zeros_are_zeros_that_nobody_else_counts_with() -> None:
    zeros = Zeros(CPU)
    taken = [zeros.take(3) for _ in range(20_000)]
    for number, some in enumerate(taken):
        assert some.tolist() == [0, 0, 0] and some.storage_offset() % 4 == 0
        some += number
    assert all(some.tolist() == [number] * 3 for number, some in enumerate(taken))


def test_entries_with_the_same_adapter_take_turns_one_after_the_other() -> None:
    turns = turns_of(np.array([-1, 2, 0, -1, 2]))
    assert turns.dtype == np.int32 and len(turns) == turns_size(5)
    assert turns[0] == 3 and turns[1:4].tolist() == [2, 1, 4] and turns[6:9].tolist() == [0, 2, 2]
    assert entries_of(len(turns)) == 5
    assert turns[11:].tolist() == [-1, 1, 0, -1, 2, -1, 2, 0, -1, 2]


@pytest.mark.parametrize("split", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize(
    ("outputs", "size", "rank", "branches", "repeat", "slots"),
    [
        ((64, 32, 32), 328, 16, 1, 1, [2]),
        ((64,), 512, 32, 2, 11, [1]),
        ((128,), 96, 16, 2, 11, [1, 2]),
        ((32, 32), 640, 16, 1, 2, [1, -1, 0, 1]),
        ((64,), 64, 16, 1, 3, [-1, -1]),
    ],
    ids=["one", "rows of patches", "two patches", "four", "none"],
)
def test_a_product_of_few_rows_adds_it_itself(
    outputs: tuple[int, ...],
    size: int,
    rank: int,
    branches: int,
    repeat: int,
    slots: list[int],
    split: bool,
) -> None:
    rows, of_entry = adapted(outputs, size, rank, slots, branches)
    x = torch.randn(branches * len(slots) * repeat, size) / size**0.5
    weight = torch.randn(sum(outputs), size) / size**0.5
    product = partial_linear if split else split_linear
    plain, expected = product(x, weight), added(rows.slots, of_entry, x, branches)
    without = of_entry.repeat_interleave(repeat).repeat(branches) < 0
    for _ in range(2):
        y = product(x, weight, low_rank=rows)
        assert torch.equal(y[..., without, :], plain[..., without, :])
        total, before = (parts.view(-1, len(x), sum(outputs)).sum(0) for parts in (y, plain))
        torch.testing.assert_close(total, before + expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("size", "branches", "repeat", "slots"), [(1032, 1, 1, [2]), (96, 2, 11, [1, 2]), (64, 2, 4, [1, -1, 0])]
)
def test_gates_and_what_they_are_multiplied_with_get_it_before_that(
    size: int, branches: int, repeat: int, slots: list[int]
) -> None:
    rows, of_entry = adapted((64, 64), size, 16, slots, branches)
    x = torch.randn(branches * len(slots) * repeat, size) / size**0.5
    weight = torch.randn(128, size) / size**0.5
    assert adds_itself(x, weight, rows, gated=True)
    gate, up = (x @ weight.T + added(rows.slots, of_entry, x, branches)).chunk(2, dim=-1)
    found = split_linear(x, weight, gated=True, low_rank=rows)
    torch.testing.assert_close(found, torch.nn.functional.silu(gate) * up, atol=2e-5, rtol=1e-5)
    without = of_entry.repeat_interleave(repeat).repeat(branches) < 0
    assert torch.equal(found[without], split_linear(x, weight, gated=True)[without])


@pytest.mark.filterwarnings("ignore:(overflow|invalid value)")
@pytest.mark.parametrize("gated", [False, True])
def test_what_overflows_with_one_adapter_leaves_rows_of_others_as_they_are(gated: bool) -> None:
    rows, _ = adapted((32, 32) if gated else (64,), 64, 16, [1, -1, 2])
    x, weight = torch.randn(3, 64), torch.randn(64, 64)
    expected = split_linear(x, weight, gated=gated, low_rank=rows)
    rows.slots.storage[1] *= 1e30
    found = split_linear(x, weight, gated=gated, low_rank=rows)
    assert not found[0].isfinite().all() and torch.equal(found[1:], expected[1:])


def test_a_row_of_zeros_is_there_as_soon_as_others() -> None:
    """Programs wait until what the first ones give is no zero any more."""
    rows, of_entry = adapted((64,), 64, 16, [1, 2])
    x, weight = torch.randn(2, 64), torch.randn(64, 64)
    x[0] = 0
    expected = x @ weight.T + added(rows.slots, of_entry, x, 1)
    torch.testing.assert_close(split_linear(x, weight, low_rank=rows), expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("tiles", [1, 2, 4])
@pytest.mark.parametrize(
    ("length", "heads", "kv_heads", "head_dim", "branches", "slots"),
    [(11, 4, 2, 32, 2, [1, -1, 2, 1]), (9, 8, 2, 128, 1, [2]), (16, 6, 2, 48, 2, [-1, 0])],
)
def test_attention_gives_what_down_makes_of_its_result(
    length: int, heads: int, kv_heads: int, head_dim: int, branches: int, slots: list[int], tiles: int
) -> None:
    rows, of_entry = adapted((48,), heads * head_dim, 32, slots, branches)
    qkv = torch.randn(branches * len(slots), length, (heads + 2 * kv_heads) * head_dim)
    launch = RowLaunch(tiles)
    expected = row_attention(qkv, heads, kv_heads, None, launch=launch)
    out, rows = row_attention_and_shrink(qkv, heads, kv_heads, None, None, rows, launch)
    assert torch.equal(out, expected) and rows.hidden is not None
    x, y = out.view(-1, heads * head_dim), torch.zeros(out[..., 0].numel(), 48)
    expand_(y, rows.hidden, rows)
    torch.testing.assert_close(y, added(rows.slots, of_entry, x, branches), atol=2e-4, rtol=1e-5)


def test_attention_leaves_to_others_what_it_does_not_do_better() -> None:
    many, few = (adapted((48,), 64, 32, slots)[0] for slots in ([0] * 5, [0] * 4))
    qkv = torch.zeros(5, 11, 96)
    assert shrinks(qkv, None, many) and not shrinks(qkv, None, few)
    assert not shrinks(qkv, slice(-4, None), many)  # a tile holds several heads
    assert not shrinks(qkv[:, :, :48], None, adapted((48,), 64, 64, [0] * 5)[0])  # too much of `down`


def test_a_product_refuses_what_it_does_not_add_itself() -> None:
    uneven, _ = adapted((40, 24), 64, 16, [0])
    many, _ = adapted((64,), 64, 16, [0] * 5)
    for rows in (uneven, many):
        x, weight = torch.zeros(rows.num_entries, 64), torch.zeros(64, 64)
        assert not adds_itself(x, weight, rows, split=False)
        with pytest.raises(ValueError, match="adds_itself"):
            split_linear(x, weight, low_rank=rows)


def test_entries_with_adapters_stand_evenly_among_the_others() -> None:
    assert spread_out([3, 1, 2, -1, -1, -1, -1, -1, -1]) == [3, 1, 4, 5, 2, 6, 7, 0, 8]
    assert spread_out([-1] * 5) == [0, 1, 2, 3, 4] and spread_out([]) == []
    for adapted in range(65):
        slots = [0] * adapted + [-1] * (64 - adapted)
        order = spread_out(slots)
        assert sorted(order) == list(range(64))
        for few in range(1, 65):
            counts = [sum(slots[i] >= 0 for i in order[at : at + few]) for at in range(65 - few)]
            assert max(counts) - min(counts) <= 1 or adapted in (0, 64)


def test_entries_with_the_same_adapter_follow_each_other() -> None:
    slots = [i % 8 for i in range(64)]
    assert [slots[i] for i in spread_out(slots)] == [i // 8 for i in range(64)]
    mixed = [i % 4 if i % 2 else -1 for i in range(16)]
    assert [mixed[i] for i in spread_out(mixed) if mixed[i] >= 0] == [1, 1, 1, 1, 3, 3, 3, 3]
