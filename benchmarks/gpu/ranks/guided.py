"""VoxCPM's flow with guided and unguided rows on a GPU each, against both on one.

    python -m benchmarks.gpu.ranks.guided [--shape voxcpm2] [--streams 1 8 64] [--json FILE]

Two ranks have the whole DiT. For each call of it a rank computes the velocities of its half of the rows, and
both get the other's by one sum over the ranks, so that both take the same step. The ten solver steps with
their nine exchanges are recorded as one. Prints, by streams, milliseconds of a patch's flow on one GPU and on
two, and how far their latents are apart, then JSON. What a second GPU buys must be more than a second worker.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.checkpoints import SHAPES, shape_config
from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.fused import microseconds, relative
from benchmarks.gpu.work import CFG_VALUE, TIMESTEPS
from engine.parallel.follower import Follower, follow
from engine.parallel.group import Group
from engine.parallel.meeting import follow_into, lead
from engine.parallel.ranks import Ranks
from models.transformer.fused import fuse_layers
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.fused.flow import FusedFlow
from models.voxcpm.fused.linear import fuse_linears
from models.voxcpm.model import LocalDiT

LAUNCHES = 8
"""Patches in one recorded step."""


class HalfFlow(FusedFlow):
    """Rank 0 has the guided rows, rank 1 those without what guides them."""

    def __init__(self, dit: LocalDiT, patch_size: int, group: Group) -> None:
        super().__init__(dit, patch_size)
        self._group = group

    def _velocity(self, tokens: Tensor, patch: int, deltas: Any) -> Tensor:
        own = super()._velocity(tokens.chunk(2)[self._group.rank], patch, deltas)
        both = own.new_zeros(2, len(own), own[0].numel())
        both[self._group.rank] = own.flatten(1)
        return self._group.all_reduce(both.flatten(0, 1)).view(-1, *own.shape[1:])


class Flow:
    """The same random DiT and inputs on every rank."""

    def __init__(self, shape: str, device: torch.device) -> None:
        torch.manual_seed(0)
        self.config, self.device = VoxCPMConfig.from_dict(shape_config(shape)), device
        if not self.config.two_condition_tokens:
            raise SystemExit(f"{shape}: only where the rows' first tokens are what guides them")
        sizes = self.config.dit_transformer()
        self.dit = LocalDiT(sizes, self.config.feat_dim, self.config.two_condition_tokens)
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.dit.to(device, dtype).eval().requires_grad_(False)
        fuse_layers(self.dit)
        fuse_linears(self.dit)

    @torch.inference_mode()
    def measured(self, streams: int, group: Group | None) -> tuple[Tensor, float]:
        """Latents of a patch, and the microseconds that it takes; over a group, where there is one."""
        draw, weight = torch.Generator().manual_seed(streams), self.dit.out_proj.weight
        patch = self.config.patch_size
        noise, cond = (
            torch.randn(streams, patch, self.config.feat_dim, generator=draw).to(self.device)
            for _ in range(2)
        )
        mu = torch.randn(streams, 2, weight.shape[1], generator=draw).to(self.device, weight.dtype)
        guidance = torch.full((streams, 1, 1), CFG_VALUE, device=self.device)
        flow = FusedFlow(self.dit, patch) if group is None else HalfFlow(self.dit, patch, group)
        schedule = FlowSolver(self.dit).schedule(TIMESTEPS)

        def solve() -> Tensor:
            return flow.integrate(schedule, noise, mu, cond.to(mu.dtype), guidance)

        latents = solve()
        return latents, microseconds(solve, LAUNCHES if self.device.type == "cuda" else 1, self.device)


def measure(shape: str, device: torch.device, streams: list[int]) -> list[dict[str, float]]:
    """All rows, with a second rank on the next device."""
    flow, ranks = Flow(shape, device), Ranks(__spec__.name if __spec__ else __name__, 2)
    other = f"cuda:{(device.index or 0) + 1}" if device.type == "cuda" else "cpu"
    rows = []
    try:
        group = lead(ranks, [{"device": other, "shape": shape, "streams": streams}], device)
        for count in streams:
            alone, one = flow.measured(count, None)
            halves, two = flow.measured(count, group)
            ranks.answers()
            error = relative(halves, alone)
            rows.append({"streams": count, "one_ms": one / 1e3, "two_ms": two / 1e3, "relative_error": error})
            print(f"{count:4} streams: {one / 1e3:.3f} ms on one, {two / 1e3:.3f} on two, apart {error:.1e}")
    finally:
        ranks.close()
    group.close()
    return rows


def serve(follower: Follower) -> None:
    """Rank 1."""
    told = follower.told()
    device = device_of(told["device"])
    flow = Flow(told["shape"], device)
    group = follow_into(follower, told, device)
    for count in told["streams"]:
        flow.measured(count, group)
        follower.answer(count)
    follower.told()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    rows = measure(chosen.shape, device_of(chosen.device), chosen.streams)
    print(json.dumps(rows))
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdecimal():
        follow(int(sys.argv[1]), serve)
    else:
        main()
