"""The processes of one data-parallel run, and what they exchange: gradients, and values all must agree on."""

from __future__ import annotations

import argparse
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

TIMEOUT = timedelta(seconds=150)


class Ranks:
    """Process `rank` of `world`; a single process needs no process group, and every method does nothing.

    port: of the first rank on this machine, where all meet.
    """

    def __init__(self, rank: int, world: int, device: torch.device, port: int = 29571) -> None:
        self.rank, self.world, self._device = rank, world, device
        if world > 1:
            backend = "nccl" if device.type == "cuda" else "gloo"
            meeting = f"tcp://127.0.0.1:{port}"
            dist.init_process_group(
                backend, init_method=meeting, rank=rank, world_size=world, timeout=TIMEOUT
            )
            dist.all_reduce(torch.ones(1, device=device))

    @classmethod
    def of_arguments(cls, args: argparse.Namespace, device: torch.device) -> Ranks:
        """As the options of `add_arguments` say."""
        return cls(args.rank, args.world, device, args.port)

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--rank", type=int, default=0)
        parser.add_argument("--world", type=int, default=1)
        parser.add_argument("--port", type=int, default=29571, help="where ranks meet, on this machine")

    def average(self, tensors: list[Tensor]) -> None:
        """Replace each tensor by its mean over ranks, in place."""
        if self.world > 1:
            for tensor in tensors:
                dist.all_reduce(tensor)
                tensor /= self.world

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
