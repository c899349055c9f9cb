"""Decodes in bf16 on a CPU: as exact as PyTorch's attention in bf16, and alike for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.attention.halved import attend_halved

ROWS = 3
SHAPES = [(heads, groups, size, length)
          for heads, groups, size in ((1, 1, 64), (1, 3, 16), (2, 7, 64), (4, 1, 128), (8, 2, 128))
          for length in (1, 33, 700)]  # fmt: skip


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def some_rows(heads: int, groups: int, size: int, length: int) -> tuple[Tensor, ...]:
    """Queries, keys and values, slots of the rows, and a mask that hides the end of the first one."""
    torch.manual_seed(length)
    q = 2 * torch.randn(ROWS, heads * groups, size)
    keys, values = torch.randn(2, ROWS * length + 5, heads, size).bfloat16().unbind(0)
    slots = torch.randperm(len(keys))[: ROWS * length].view(ROWS, length)
    mask = torch.zeros(ROWS, 1, 1, length)
    mask[0, ..., (length + 1) // 2 :] = -torch.inf
    return q.bfloat16(), keys, values, slots, mask


@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_threads_gives_the_same_bits(shape: tuple[int, ...], threads: None) -> None:
    rows, results = some_rows(*shape), []
    for count in (1, 2, 3, 4):
        torch.set_num_threads(count)
        results.append(attend_halved(*rows, 0.125))
    assert all(torch.equal(results[0], result) for result in results[1:])


def test_it_is_about_as_exact_as_attention_of_pytorch_in_bf16() -> None:
    errors = {"here": 0.0, "pytorch": 0.0}
    for heads, groups, size, length in SHAPES:
        q, keys, values, slots, mask = some_rows(heads, groups, size, length)
        plain = (q.view(ROWS, heads, groups, size), *(x[slots].transpose(1, 2) for x in (keys, values)), mask)
        exact = F.scaled_dot_product_attention(*(x.double() for x in plain))
        found = {
            "here": attend_halved(q, keys, values, slots, mask, size**-0.5).view_as(exact),
            "pytorch": F.scaled_dot_product_attention(*(x.bfloat16() for x in plain)),
        }
        for who, result in found.items():
            errors[who] += (result.double() - exact).square().mean().item()
    assert errors["here"] < 2 * errors["pytorch"]
