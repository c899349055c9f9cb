"""The flow-matching solver that turns noise into a patch of latents.

Euler steps on the sway-sampled time grid of VoxCPM, classifier-free guidance with CFG-Zero*
(Fan et al. 2025: zero velocity in the first step, optimised scale of the unconditional branch).
Everything that does not depend on the noisy patch is computed once per grid or once per patch:

    solver = FlowSolver(model.dit)
    patch = solver.solve(noise, mu, cond, num_steps=10, cfg_value=cfg)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import upload
from engine.layers.low_rank import NOTHING, Deltas
from models.lora.rows import BatchAdapters
from models.voxcpm.model import DIT_STACK, LocalDiT

ZERO_INIT_FRACTION = 0.04


def time_grid(num_steps: int) -> list[float]:
    """Flow times from 1 (noise) to 0 (data), num_steps + 1 values: t + (cos(pi/2 t) - 1 + t), t linear."""
    linear = torch.linspace(1, 0, num_steps + 1, dtype=torch.float32)
    return (linear + (torch.cos(torch.pi / 2 * linear) - 1 + linear)).tolist()


def num_zero_steps(num_steps: int) -> int:
    """How many first steps use velocity zero (CFG-Zero*)."""
    return max(1, int((num_steps + 1) * ZERO_INIT_FRACTION))


@dataclass(frozen=True)
class SolverSchedule:
    """One grid: the step sizes of the steps that call the estimator, and their time embeddings [1, h]."""

    step_sizes: list[float]
    time_embeddings: list[Tensor]


class FlowSolver:
    """Solves rows of one batch together; rows may differ in guidance, not in their number of steps."""

    def __init__(self, dit: LocalDiT, mean_mode: bool = False) -> None:
        self.dit = dit
        self.mean_mode = mean_mode
        self._integrate = dit.integrate or self.integrate
        self._schedules: dict[int, SolverSchedule] = {}

    def schedule(self, num_steps: int) -> SolverSchedule:
        if num_steps not in self._schedules:
            self._schedules[num_steps] = self._build_schedule(num_steps)
        return self._schedules[num_steps]

    def _build_schedule(self, num_steps: int) -> SolverSchedule:
        grid = time_grid(num_steps)
        device = self.dit.decoder.norm.weight.device
        sizes, embeddings = [], []
        for i in range(num_zero_steps(num_steps), num_steps):
            size = grid[i] - grid[i + 1]
            delta = size if self.mean_mode else 0.0
            time = upload(np.array([grid[i], delta], np.float32), device)
            embeddings.append(self.dit.time_embedding(time[:1], time[1:]))
            sizes.append(size)
        return SolverSchedule(sizes, embeddings)

    def solve(
        self,
        noise: Tensor,
        mu: Tensor,
        cond: Tensor,
        num_steps: int,
        cfg_value: Tensor | None,
        adapters: BatchAdapters | None = None,
    ) -> Tensor:
        """Integrate from noise to data.

        noise, cond [N, P, D]; mu [N, K, h]; cfg_value [N, 1, 1], or None when no row is guided
        (guidance 1), which halves the work; adapters of the rows. Returns latents [N, P, D] in fp32.
        """
        given = (self.schedule(num_steps), noise, mu, cond, cfg_value)
        if adapters is None:
            return self._integrate(*given)
        rows = adapters if cfg_value is None else adapters.twice()
        return self._integrate(*given, rows.deltas(DIT_STACK))

    def integrate(
        self,
        schedule: SolverSchedule,
        noise: Tensor,
        mu: Tensor,
        cond: Tensor,
        cfg_value: Tensor | None,
        deltas: Deltas = NOTHING,
    ) -> Tensor:
        """The Euler steps of `solve` on the grid of `schedule`; deltas: of the DiT, guided rows twice."""
        dtype = mu.dtype
        guided = cfg_value is not None
        if guided:
            mu, cond = torch.cat([mu, torch.zeros_like(mu)]), torch.cat([cond, cond])
        prefix = self.dit.prefix(mu, cond.to(dtype))
        x = noise.float()
        for size, embedding in zip(schedule.step_sizes, schedule.time_embeddings, strict=True):
            rows = torch.cat([x, x]) if guided else x
            velocity = self.dit.velocity(rows.to(dtype), prefix, embedding, deltas).float()
            x = torch.sub(x, guide(velocity, cfg_value) if guided else velocity, alpha=size)
        return x


def guide(velocity: Tensor, cfg_value: Tensor) -> Tensor:
    """Classifier-free guidance with the optimised scale of CFG-Zero*.

    velocity [2N, P, D]: conditional rows, then unconditional ones; cfg_value [N, 1, 1]. With
    s = <v+, v-> / (|v-|^2 + 1e-8) per row the result is s v- + cfg (v+ - s v-), [N, P, D].
    """
    positive, negative = velocity.chunk(2)
    dot = (positive * negative).sum(dim=(1, 2), keepdim=True)
    scaled = negative * (dot / (negative.square().sum(dim=(1, 2), keepdim=True) + 1e-8))
    return torch.lerp(scaled, positive, cfg_value)
