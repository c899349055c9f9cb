"""Products of rows that are entries of their own, by the kernel of CUDA C++."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from engine.kernels.hopper import row_linear as kernel
from engine.kernels.hopper.sources import CAPABILITY
from engine.kernels.low_rank.slots import LowRankRows, signals
from engine.layers.low_rank import turns_of
from tests.gpu.adapters.additions import additions
from tests.gpu.device import CUDA, DEVICE, needs_gpu

HOPPER = CUDA and torch.cuda.get_device_capability() == CAPABILITY
pytestmark = [needs_gpu, pytest.mark.skipif(not HOPPER, reason="the kernel is made for Hopper")]

QKV, OUTPUT = ((2048, 256, 256), 2048), ((2048,), 2048)
SHAPES = [(QKV, False), (OUTPUT, True), (((1024, 512, 512), 1024), True), (((96,), 5632), False)]


def served(
    product: tuple[tuple[int, ...], int], entries: int = 64, num_slots: int = 5
) -> tuple[torch.Tensor, torch.Tensor, LowRankRows, torch.Tensor]:
    """x and weight, what slots add to rows of streams, and that itself (float64)."""
    parts, size = product
    x, rows, added, _ = additions(parts, size, 32, 1, 1, entries, num_slots)
    rows = replace(rows, slots=replace(rows.slots, signals=signals(DEVICE)))
    weight = torch.randn(sum(parts), size, generator=torch.Generator().manual_seed(3)) / size**0.5
    return x, weight.to(DEVICE, torch.bfloat16), rows, added


def errors_of(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Of the row that is furthest from what is expected."""
    return float(((found.double().cpu() - expected).norm(dim=1) / expected.norm(dim=1)).max())


@pytest.mark.parametrize(("entries", "num_slots"), [(64, 5), (64, 32), (50, 32), (49, 1)])
@pytest.mark.parametrize(("product", "floats"), SHAPES)
def test_products_add_what_adapters_do(
    product: tuple[tuple[int, ...], int], floats: bool, entries: int, num_slots: int
) -> None:
    x, weight, rows, added = served(product, entries, max(num_slots, 4))
    assert kernel.serves(len(x), weight, rows, floats)
    expected = x.cpu().double() @ weight.cpu().double().T + added
    for _ in range(20):  # each finds the signals that the one before left
        found = kernel.row_linear(x, weight, rows, floats)
        assert found.dtype == (torch.float32 if floats else torch.bfloat16)
        assert errors_of(found, expected) < (3e-3 if floats else 5e-3)


@pytest.mark.parametrize(("product", "floats"), SHAPES)
def test_rows_without_an_adapter_keep_every_bit(product: tuple[tuple[int, ...], int], floats: bool) -> None:
    x, weight, rows, _ = served(product)
    without = rows.turns[1 + 3 * len(x) :].cpu() < 0
    found = kernel.row_linear(x, weight, rows, floats).cpu()
    rows.turns.copy_(torch.from_numpy(turns_of(torch.full((len(x),), -1).numpy())))
    plain = kernel.row_linear(x, weight, rows, floats).cpu()
    assert torch.equal(found[without], plain[without]) and not torch.equal(found, plain)
    assert errors_of(plain, F.linear(x.double(), weight.double()).cpu()) < 5e-3


def test_products_of_other_shapes_share_signals() -> None:
    (x, qkv, rows, of_qkv), (same, output, others, of_output) = served(QKV), served(OUTPUT)
    others = replace(others, slots=replace(others.slots, signals=rows.slots.signals))
    for _ in range(10):
        for place, weight, its, added in ((x, qkv, rows, of_qkv), (same, output, others, of_output)):
            expected = place.cpu().double() @ weight.cpu().double().T + added
            assert errors_of(kernel.row_linear(place, weight, its), expected) < 5e-3


def test_a_recorded_product_serves_whoever_has_an_adapter() -> None:
    x, weight, rows, _ = served(QKV, num_slots=32)
    kernel.row_linear(x, weight, rows)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = [kernel.row_linear(x, weight, rows) for _ in range(3)]
    plain = F.linear(x, weight)
    for count in (0, 1, 8, 64, 31):
        slots = torch.full((len(x),), -1, dtype=torch.int32)
        chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(count))[:count]
        slots[chosen] = torch.arange(count, dtype=torch.int32) % 32
        rows.turns.copy_(torch.from_numpy(turns_of(slots.numpy())))
        for _ in range(2):
            graph.replay()
        assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
        changed = ((found[0] - plain).float().norm(dim=1) / plain.float().norm(dim=1) > 0.05).cpu()
        assert torch.equal(changed, slots >= 0)


def test_other_rows_ranks_and_slots_are_left_to_the_kernels_around_products() -> None:
    x, weight, rows, _ = served(QKV)
    slots = rows.slots
    assert not kernel.serves(32, weight, rows)
    assert not kernel.serves(len(x), weight.float(), rows)
    assert not kernel.serves(len(x), weight, replace(rows, branches=2))
    for other in (
        replace(slots, rank=16), replace(slots, signals=None), replace(slots, storage=slots.storage.float()),
        replace(slots, storage=slots.storage.repeat(7, 1)),
    ):  # fmt: skip
        assert not kernel.serves(len(x), weight, replace(rows, slots=other))
