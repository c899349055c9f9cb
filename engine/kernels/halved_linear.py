"""Linear layers of a middling number of rows: y = x W^T by the matrix library, in two halves of K.

With some hundred rows a layer of few outputs has fewer tiles than a device has processors, or small ones that
fetch more than they multiply. Two halves of K as one batched product keep all of them busy with large tiles.
Their fp32 sums go to `add_and_norm`, as do those of `split_linear`:

    hidden, normed = add_and_norm(halved_linear(attended, o), x, g, eps=1e-5)
"""

from __future__ import annotations

import torch
from torch import Tensor

MOST_ROWS = {1024: 1408, 2048: 128}
"""Up to how many rows it was seen to pay, by the outputs of a layer. On an H200 a DiT layer of VoxCPM2, of
1,024 outputs, takes 64.9 us instead of 69.8 with 704 rows, 104.5 instead of 105.0 with 1,408, and 198
instead of 179 with 2,816; a layer of its language model, of 2,048, takes 49.1 instead of 50.7 with 66 rows
and 65.0 instead of 64.8 with 264 (`benchmarks/results/gpu_halves.json`)."""


def most_rows(num_outputs: int) -> int:
    """Up to how many rows halves pay for a layer of so many outputs, as far as is known."""
    return MOST_ROWS.get(num_outputs, 0)


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
