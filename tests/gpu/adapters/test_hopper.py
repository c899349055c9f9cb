"""Products that add what adapters do, by the kernel of CUDA C++."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from engine.kernels.hopper import linear as hopper
from engine.kernels.hopper.sources import CAPABILITY
from engine.kernels.linear.spare_rows import add_linear_
from engine.kernels.low_rank.slots import LowRankRows, signals
from engine.layers.low_rank import turns_of
from tests.gpu.adapters.additions import additions
from tests.gpu.device import CUDA, DEVICE, needs_gpu

HOPPER = CUDA and torch.cuda.get_device_capability() == CAPABILITY
pytestmark = [needs_gpu, pytest.mark.skipif(not HOPPER, reason="the kernel is made for Hopper")]

QKV, OUTPUT = ((2048, 256, 256), 1024), ((1024,), 2048)
ENTRIES, REPEAT, ALPHA = 64, 11, 0.25


def served(
    parts: tuple[int, ...], size: int, repeat: int = REPEAT, entries: int = ENTRIES, num_slots: int = 5
) -> tuple[torch.Tensor, torch.Tensor, LowRankRows, torch.Tensor]:
    """x and weight, what slots add to rows of streams, and that itself (float64)."""
    x, rows, added, _ = additions(parts, size, 32, 2, repeat, entries, num_slots)
    rows = replace(rows, slots=replace(rows.slots, signals=signals(DEVICE)))
    draw = torch.Generator().manual_seed(3)
    weight = torch.randn(sum(parts), size, generator=draw) / size**0.5
    return x, weight.to(DEVICE, torch.bfloat16), rows, added


def adapted(rows: LowRankRows, slots: torch.Tensor) -> torch.Tensor:
    """Which rows have an adapter, by the slots of entries."""
    return (slots >= 0).repeat_interleave(REPEAT).repeat(rows.branches)


def slots_of(rows: LowRankRows) -> torch.Tensor:
    return rows.turns.cpu()[1 + 3 * ENTRIES :]


def error_of(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double().cpu() - expected).norm() / expected.norm())


def test_a_product_adds_what_adapters_do_and_leaves_other_rows_as_they_are() -> None:
    x, weight, rows, added = served(*QKV)
    assert hopper.serves(len(x), weight, rows)
    plain, found = F.linear(x, weight), hopper.linear_with_adapters(x, weight, rows)
    assert error_of(found, x.cpu().double() @ weight.cpu().double().T + added) < 5e-3
    others = ~adapted(rows, slots_of(rows))
    assert torch.equal(found.cpu()[others], plain.cpu()[others])


def test_a_product_is_added_to_rows_with_what_adapters_do() -> None:
    x, weight, rows, added = served(*OUTPUT)
    assert hopper.serves(len(x), weight, rows, residual=True)
    before = torch.randn(len(x), len(weight), generator=torch.Generator().manual_seed(4))
    plain, found = (before.to(DEVICE, torch.bfloat16) for _ in range(2))
    expected = found.cpu().double() + ALPHA * (x.cpu().double() @ weight.cpu().double().T + added)
    add_linear_(plain, x, weight, ALPHA)
    hopper.add_linear_with_adapters_(found, x, weight, rows, ALPHA)
    assert error_of(found, expected) < 5e-3
    others = ~adapted(rows, slots_of(rows))  # the library may sum up otherwise here
    library, kernel = (error_of(y.cpu()[others], expected[others]) for y in (plain, found))
    assert kernel < 1.05 * library


@pytest.mark.parametrize(("repeat", "entries"), [(11, 60), (9, 72), (5, 128), (16, 44)])
@pytest.mark.parametrize("parts", [OUTPUT, ((1024,), 512), ((1024,), 1024), ((1000,), 4096)])
def test_rows_of_other_streams_that_fill_no_tile(
    parts: tuple[tuple[int, ...], int], repeat: int, entries: int
) -> None:
    x, weight, rows, added = served(*parts, repeat, entries)
    assert hopper.serves(len(x), weight, rows, residual=True)
    before = torch.randn(len(x), len(weight), generator=torch.Generator().manual_seed(4))
    expected = x.cpu().double() @ weight.cpu().double().T + added
    expected = before.bfloat16().double() + ALPHA * expected
    for _ in range(2):
        found = before.to(DEVICE, torch.bfloat16)
        hopper.add_linear_with_adapters_(found, x, weight, rows, ALPHA)
        assert error_of(found, expected) < 5e-3
        assert not rows.slots.signals.turns.any()


@pytest.mark.parametrize(("repeat", "entries"), [(11, 64), (16, 44), (9, 72), (5, 128)])
@pytest.mark.parametrize(("parts", "residual"), [(QKV, False), (OUTPUT, True)])
def test_tiles_whose_rows_have_many_adapters(
    parts: tuple[tuple[int, ...], int], residual: bool, repeat: int, entries: int
) -> None:
    x, weight, rows, added = served(*parts, repeat, entries, num_slots=200)
    assert hopper.serves(len(x), weight, rows, residual)
    expected = x.cpu().double() @ weight.cpu().double().T + added
    for _ in range(20):
        y = torch.zeros(len(x), len(weight), dtype=torch.bfloat16, device=DEVICE)
        if residual:
            hopper.add_linear_with_adapters_(y, x, weight, rows, ALPHA)
        else:
            y = ALPHA * hopper.linear_with_adapters(x, weight, rows)
        assert error_of(y, ALPHA * expected) < 5e-3
        assert not rows.slots.signals.turns.any()


@pytest.mark.parametrize("parts", [QKV, OUTPUT])
def test_a_recorded_product_serves_whoever_has_an_adapter(parts: tuple[tuple[int, ...], int]) -> None:
    x, weight, rows, _ = served(*parts)
    hopper.linear_with_adapters(x, weight, rows)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once = hopper.linear_with_adapters(x, weight, rows)
        again = hopper.linear_with_adapters(x, weight, rows)
    for count in (0, 1, 8, 40, 64):
        slots = torch.full((ENTRIES,), -1, dtype=torch.int32)
        slots[torch.randperm(ENTRIES, generator=torch.Generator().manual_seed(count))[:count]] = 2
        rows.turns.copy_(torch.from_numpy(turns_of(slots.numpy())))
        graph.replay()
        plain, others = F.linear(x, weight).cpu(), ~adapted(rows, slots)
        assert torch.equal(once, again)
        assert torch.equal(once.cpu()[others], plain[others])
        assert count == 0 or (once.cpu()[~others] != plain[~others]).any(dim=1).all()
        assert not rows.slots.signals.turns.any()


def test_other_rows_ranks_and_slots_are_left_to_the_kernels_around_products() -> None:
    x, weight, rows, _ = served(*QKV)
    assert not hopper.serves(16 * 2 * REPEAT, weight, rows)
    assert not hopper.serves(len(x), weight.float(), rows)
    assert not hopper.serves(len(x), weight, replace(rows, slots=replace(rows.slots, rank=16)))
    assert not hopper.serves(len(x), weight, replace(rows, slots=replace(rows.slots, signals=None)))
    assert not hopper.serves(len(x), weight, replace(rows, branches=1))
