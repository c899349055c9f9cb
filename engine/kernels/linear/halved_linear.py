"""Linear layers of a middling number of rows: y = x W^T by the matrix library, in two halves of K.

With some hundred rows a layer of few outputs has fewer tiles than a device has processors, or small ones that
fetch more than they multiply. Two halves of K as one batched product keep all of them busy with large tiles.
Their fp32 sums go to `add_and_norm`, as do those of `split_linear`:

    hidden, normed = add_and_norm(halved_linear(attended, o), x, g, eps=1e-5)
"""

from __future__ import annotations

import torch
from torch import Tensor

PAYING_ROWS: dict[int, tuple[range, ...]] = {
    1024: (range(67, 704),),
    2048: (range(49, 705),),
    4096: (range(65, 257),),
}
"""Numbers of rows for which it was seen to pay, by the outputs of a layer. On an H200 a DiT layer of VoxCPM2,
of 1,024 outputs, takes 37.0 us instead of 39.8 with 176 rows and 45.0 instead of 47.2 with 352, but 34.4
instead of 33.4 with 66. From 704 rows on some to spare pay better (`spare_rows`). A layer of its language
model, of 2,048, takes 50.8 instead of 52.2 with 66 rows and 127.9 instead of 136.7 with 704
(`benchmarks/results/gpu_halves.json`). In a layer of Qwen3-8B, of 4,096, both such products and the norms
behind them take 47.7 us instead of 46.8 with 64 rows, 46.0 instead of 47.7 with 72, 49.0 instead of 51.4 with
128, 54.1 instead of 74.2 with 192 and 62.8 instead of 65.5 with 256."""
KNOWN_OF_PARTS = (1024, 2048)
"""Outputs of layers for which that is taken to hold where K is shared out over ranks, too."""


def paying_rows(num_outputs: int, whole: bool = True) -> tuple[range, ...]:
    """For how many rows halves pay in a layer of so many outputs, as far as is known. whole: K is not shared
    out over ranks."""
    known = whole or num_outputs in KNOWN_OF_PARTS
    return PAYING_ROWS.get(num_outputs, ()) if known else ()


def halved_linear(x: Tensor, weight: Tensor) -> Tensor:
    """The two products of x [..., K], contiguous, and weight [N, K], not added up: fp32 [2, rows, N].

    Raises RuntimeError when K is odd.
    """
    size = x.shape[-1]
    inputs = x.reshape(-1, 2, size // 2).transpose(0, 1)
    halves = weight.view(len(weight), 2, size // 2).permute(1, 2, 0)
    if x.is_cuda:
        return torch.bmm(inputs, halves, out_dtype=torch.float32)
    return torch.bmm(inputs.float(), halves.float())
