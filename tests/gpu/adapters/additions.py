"""What slots add to rows of products, for tests of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.layers.low_rank import LowRankPlace, turns_of
from tests.gpu.device import CUDA, DEVICE

if TYPE_CHECKING:
    from engine.kernels.low_rank.slots import LowRankRows


def additions(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int, num_slots: int = 5
) -> tuple[torch.Tensor, LowRankRows, torch.Tensor, torch.Tensor]:
    """x, what slots add to some of its rows, what that is (float64), and which rows get something."""
    from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros

    dtype = torch.bfloat16 if CUDA else torch.float32
    if not CUDA:
        parts, size = tuple(part // 16 for part in parts), size // 32
    outputs, up = sum(parts), len(parts) * rank * size
    draw = torch.Generator().manual_seed(1)
    storage = torch.randn(num_slots, up + outputs * rank, generator=draw)
    storage[:, :up] /= size**0.5
    slots = torch.randint(-1, num_slots, (entries,), generator=draw, dtype=torch.int32)
    slots[0] = 3
    x = torch.randn(branches * entries * repeat, size, generator=draw).to(dtype)
    storage, of_row = storage.to(dtype), slots.repeat_interleave(repeat).repeat(branches)
    added = torch.zeros(len(x), outputs, dtype=torch.float64)
    for slot in range(num_slots):
        mine, downs = of_row == slot, storage[slot, :up].view(len(parts), rank, size).double()
        ups = storage[slot, up:].view(outputs, rank).double().split(parts)
        pieces = [x[mine].double() @ down.T @ piece.T for down, piece in zip(downs, ups, strict=True)]
        added[mine] = torch.cat(pieces, dim=1)
    weights = LowRankSlots(storage.to(DEVICE), LowRankPlace(0, up, size, parts), rank)
    turns = torch.from_numpy(turns_of(slots.numpy())).to(DEVICE)
    return x.to(DEVICE), LowRankRows(weights, turns, Zeros(DEVICE), branches), added, of_row >= 0
