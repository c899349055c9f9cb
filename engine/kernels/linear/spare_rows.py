"""Linear layers by the matrix library, of a few more rows than there are.

The library chooses its tiles by the number of rows, and for some numbers it chooses badly: on an H200 the DiT
of VoxCPM2 waits 24.7 us for a product of 1,408 rows and 18.4 us for one of 1,448. So rows have some to spare
behind them, in the same memory, and products have as many of these as make them fastest. What they make of
those nobody reads.

    normed = empty_with_spare(x.shape, x)      # and whoever makes rows does so in it
    y = linear(normed, weight)                 # [..., N], with spare rows again
    add_linear_(x, y, other, alpha=0.2)        # x += alpha y W^T

Rows without any to spare go through products of their own number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor
from torch.nn import functional as F

FASTER_ROWS: dict[tuple[int, int], dict[int, int]] = {
    (1024, 2048): {704: 760, 1056: 1080, 1232: 1264, 1408: 1432, 1584: 1592, 3520: 3616},
    (1024, 4096): (
        {704: 728, 1056: 1080, 1232: 1272, 1408: 1464, 1584: 1592, 3168: 3272, 3520: 3528}
        | {576: 656, 720: 728, 1152: 1192, 1296: 1336, 1440: 1464, 1728: 1816, 2880: 2888, 3456: 3528}
        | {4608: 4712, 640: 656, 800: 840, 1120: 1144, 1600: 1640, 2240: 2344}
    ),
    (2560, 1024): {1056: 1064, 1760: 1792, 3168: 3176, 3520: 3528, 3872: 3880, 5632: 5640},
    (8192, 1024): {1056: 1080, 1584: 1600, 1760: 1792, 1936: 1976, 2112: 2128, 4224: 4232, 4576: 4592},
    (1024, 1024): (
        {576: 640, 720: 768, 864: 888, 1152: 1208, 1296: 1336, 1728: 1736, 2880: 2920, 3456: 3536}
        | {4608: 4704, 800: 824, 1120: 1144, 1600: 1656}
    ),
    (1280, 1024): (
        {1296: 1320, 1728: 1736, 2304: 2328, 2880: 2888, 3456: 3520, 4608: 4616}
        | {800: 864, 960: 1000, 1120: 1144, 1280: 1320, 2240: 2256, 2560: 2600}
    ),
}
"""By outputs and inputs of a layer: rows, and how many are faster. Rows are those of steps of the releases'
DiTs, 22 of a stream with VoxCPM2, 18 with VoxCPM1.5, 10 with VoxCPM-0.5B. `python -m
benchmarks.gpu.kernels.linear.spare_rows --shape SHAPE` looks for them, here with torch 2.11 on H200s
(`benchmarks/results/gpu_spare_rows*.json`): a layer of VoxCPM2 takes 98 us instead of 105 with 1,408 rows and
113 instead of 124 with 1,760. Its steps of 48 to 96 streams take 2 to 3.5 % less
(`gpu_spare_rows_steps.json`)."""


def faster_rows(num_rows: int, weight: Tensor) -> int:
    """How many rows a product of `num_rows` and weight [N, K] has; `num_rows` where no more are known to be
    faster."""
    return FASTER_ROWS.get((weight.shape[0], weight.shape[1]), {}).get(num_rows, num_rows)


def empty_with_spare(shape: Sequence[int], like: Tensor) -> Tensor:
    """An empty tensor [..., C], contiguous, with as many rows to spare as any product of its rows has."""
    *leading, size = shape
    num_rows = prod(leading)
    most = max(rows.get(num_rows, num_rows) for rows in FASTER_ROWS.values())
    return torch.empty(most, size, dtype=like.dtype, device=like.device)[:num_rows].view(*shape)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """x W^T of x [..., K] and weight [N, K] -> [..., N]. The spare rows of a contiguous x may be read."""
    num_rows = x.numel() // x.shape[-1]
    rows = faster_rows(num_rows, weight)
    if rows == num_rows or not _has(x, rows):
        return F.linear(x, weight)
    return F.linear(_first(x, rows), weight)[:num_rows].view(*x.shape[:-1], len(weight))


def add_linear_(y: Tensor, x: Tensor, weight: Tensor, alpha: float) -> None:
    """y += alpha x W^T, in place, of contiguous y [rows, N], x [rows, K] and weight [N, K].

    y was made by `empty_with_spare`, or nothing else lies behind it: its spare rows may be written.
    """
    rows = faster_rows(len(x), weight)
    if _has(x, rows) and _has(y, rows):
        y, x = _first(y, rows), _first(x, rows)
    y.addmm_(x, weight.t(), alpha=alpha)


def _has(x: Tensor, num_rows: int) -> bool:
    """Whether the memory of x holds so many rows from its first one on."""
    held = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    return x.is_contiguous() and held >= num_rows * x.shape[-1]


def _first(x: Tensor, num_rows: int) -> Tensor:
    return x.as_strided((num_rows, x.shape[-1]), (x.shape[-1], 1))
