"""What kernels add for adapters, beside plain products."""

from __future__ import annotations

import pytest
import torch

from tests.gpu.adapters.additions import additions
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu


@pytest.mark.parametrize(
    ("parts", "size", "rank", "branches", "repeat", "entries"),
    [
        ((2048, 256, 256), 2048, 32, 1, 1, 1),
        ((2048, 256, 256), 1024, 32, 2, 11, 1),
        ((1024,), 2048, 64, 2, 4, 64),
        ((2048, 256, 256), 2048, 16, 1, 1, 64),
        ((6144, 6144), 2048, 32, 1, 1, 5),
        ((1024,), 4096, 128, 2, 11, 3),
        ((2048, 256, 256), 2048, 32, 1, 1, 700),
    ],
)
def test_the_kernel_adds_what_plain_products_add(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int
) -> None:
    from engine.kernels.low_rank.around import with_low_rank

    dtype = torch.bfloat16 if CUDA else torch.float32
    x, rows, added, adapted = additions(parts, size, rank, branches, repeat, entries)
    y = torch.randn(len(x), sum(rows.slots.place.outputs), generator=torch.Generator().manual_seed(2)).to(
        dtype
    )
    expected, result = y.double() + added, y.to(DEVICE)
    with_low_rank(lambda: result, x, rows)
    error = (result.cpu().double() - expected).norm() / expected.norm()
    assert error < (5e-3 if dtype is torch.bfloat16 else 1e-5)
    assert torch.equal(result.cpu()[~adapted], y[~adapted])


@pytest.mark.parametrize(
    ("parts", "size", "rank", "branches", "repeat", "entries", "split"),
    [
        ((2048, 256, 256), 2048, 32, 1, 1, 1, False),
        ((2048,), 2048, 64, 1, 1, 4, True),
        ((2048, 256, 256), 1024, 32, 2, 11, 1, False),
        ((1024,), 2048, 16, 2, 11, 2, True),
        ((1024,), 4096, 32, 2, 11, 1, True),
    ],
)
def test_a_product_of_few_rows_adds_it_itself_every_time(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int, split: bool
) -> None:
    from engine.kernels.linear.split_linear import adds_itself, partial_linear, split_linear

    dtype = torch.bfloat16 if CUDA else torch.float32
    x, rows, added, _ = additions(parts, size, rank, branches, repeat, entries)
    draw = torch.Generator().manual_seed(2)
    weight = (torch.randn(sum(rows.slots.place.outputs), x.shape[-1], generator=draw) / size**0.5).to(dtype)
    expected = x.cpu().double() @ weight.double().T + added
    weight = weight.to(DEVICE)
    assert adds_itself(x, weight, rows, split) or not CUDA
    product = partial_linear if split else split_linear
    found = [product(x, weight, low_rank=rows) for _ in range(300 if CUDA else 2)]
    for y in found:
        assert torch.equal(y, found[0])
    result = found[0].double().cpu().view(-1, *expected.shape).sum(0)
    assert (result - expected).norm() / expected.norm() < (5e-3 if dtype is torch.bfloat16 else 1e-5)


@pytest.mark.parametrize(
    ("outputs", "size", "branches", "repeat", "entries"),
    [(6144, 2048, 1, 1, 1), (6144, 2048, 1, 1, 4), (4096, 1024, 2, 11, 1), (4096, 1024, 2, 11, 2)],
)
def test_a_gated_product_of_few_rows_adds_it_before_the_gate(
    outputs: int, size: int, branches: int, repeat: int, entries: int
) -> None:
    from engine.kernels.linear.split_linear import adds_itself, split_linear

    dtype = torch.bfloat16 if CUDA else torch.float32
    x, rows, added, adapted = additions((outputs, outputs), size, 32, branches, repeat, entries)
    draw = torch.Generator().manual_seed(2)
    weight = (torch.randn(len(added[0]), x.shape[-1], generator=draw) / size**0.5).to(dtype)
    gate, up = (x.cpu().double() @ weight.double().T + added).chunk(2, dim=-1)
    expected, weight = torch.nn.functional.silu(gate) * up, weight.to(DEVICE)
    assert adds_itself(x, weight, rows, gated=True) or not CUDA
    found = [split_linear(x, weight, gated=True, low_rank=rows) for _ in range(300 if CUDA else 2)]
    for y in found:
        assert torch.equal(y, found[0])
    assert (found[0].double().cpu() - expected).norm() / expected.norm() < (5e-3 if CUDA else 1e-5)
    plain = split_linear(x, weight, gated=True)
    assert torch.equal(found[0][~adapted], plain[~adapted])
