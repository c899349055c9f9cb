"""A rank that takes part in some sums, for `test_tensor_parallel.py`."""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from engine.device.cuda_graphs import GraphRecorder
from engine.parallel.follower import Follower, follow
from engine.parallel.group import Group
from engine.parallel.meeting import follow_into

SIZES = ((8,), (40000,), (1, 4096), (3, 8192), (2, 9000), (300, 1000), (2048, 512), (4000, 512))
"""On both sides of what symmetric memory serves."""

REPLAYS = 200


def summed(group: Group, device: torch.device) -> list[float]:
    """The largest error of sums of random numbers, by size."""
    errors = [with_norm(group, device, rows) for rows in (1, 40, 2000)] if device.type == "cuda" else []
    for size in SIZES:
        parts = [own(rank, *size) for rank in range(group.size)]
        for _ in range(3):  # a buffer that is used again must not hold the sum before
            found = group.all_reduce(parts[group.rank].to(device, torch.bfloat16))
        exact = sum(part.bfloat16().float() for part in parts)
        errors.append((found.float().cpu() - exact).abs().max().item())
    errors.append(replayed(group, device))
    gathered = group.gather(torch.full((3,), float(group.rank), device=device))
    if gathered is not None:
        errors.append((gathered[:, 0].cpu() - torch.arange(float(group.size))).abs().max().item())
    return errors


def with_norm(group: Group, device: torch.device, rows: int) -> float:
    """As `summed`, of a sum of two parts of each rank and the norm that follows."""
    from engine.kernels.norms.add_and_norm import add_and_norm

    parts = [own(rank, 2, rows, 1000).to(device) for rank in range(group.size)]
    residual, norm = own(100, rows, 1000).to(device), own(101, 1000).to(device)
    found = group.add_and_norm(parts[group.rank], residual, norm, 1e-6, 0.5)
    exact = add_and_norm(torch.cat(parts), residual, norm, 1e-6, 0.5)
    return max((a - b).abs().max().item() for a, b in zip(found, exact, strict=True))


def replayed(group: Group, device: torch.device) -> float:
    """As `summed`, of sums of changing numbers of rows in a recorded step, over many replays."""
    parts = [own(rank, 300, 4096).bfloat16() for rank in range(group.size)]
    exact = sum(part.float() for part in parts).to(device)
    x, worst = parts[group.rank].to(device), torch.zeros((), device=device)

    def compute() -> None:
        for rows in (1, 300, 7):
            error = (group.all_reduce(x[:rows].clone()).float() - exact[:rows]).abs().max()
            worst.copy_(torch.maximum(worst, error))

    recorder = GraphRecorder(device)
    replay = recorder.record(compute)
    for _ in range(REPLAYS):
        replay()
    found = worst.item()
    recorder.forget()
    return found


def own(seed: int, *size: int) -> Tensor:
    return torch.rand(size, generator=torch.Generator().manual_seed(seed)) - 0.5


def serve(follower: Follower) -> None:
    told = follower.told()
    device = torch.device(told["device"])
    follower.answer(summed(follow_into(follower, told, device), device))
    follower.told()


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
