"""The processes of one data-parallel run, and what they exchange: gradients, and values all must agree on."""

from __future__ import annotations

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=150)


class Ranks:
    """Process `rank` of `world`; a single process needs no process group, and every method does nothing."""

    def __init__(self, rank: int, world: int, device: torch.device) -> None:
        self.rank, self.world, self._device = rank, world, device
        if world > 1:
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, rank=rank, world_size=world, timeout=TIMEOUT)
            dist.all_reduce(torch.ones(1, device=device))

    def average_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Replace gradients by their means over ranks, in one all-reduce."""
        if self.world == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch._utils._flatten_dense_tensors(gradients)
        dist.all_reduce(flat)
        flat /= self.world
        torch._foreach_copy_(gradients, torch._utils._unflatten_dense_tensors(flat, gradients))

    def share(self, value: float) -> float:
        """The first rank's value, on every rank."""
        if self.world == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self._device)
        dist.broadcast(shared, 0)
        return shared.item()

    def close(self) -> None:
        if self.world > 1:
            dist.destroy_process_group()
