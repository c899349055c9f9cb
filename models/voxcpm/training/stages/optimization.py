"""One step of optimisation in two parts, gradients and update, which a GPU replays as CUDA graphs.

The VAE's step is a thousand small kernels that take the processor three times as long to launch as the GPU
to run. Captured once, they run back to back:

    step = OptimizationStep(gradients, [Group(optimizer, parameters)], ranks, device)
    step.capture(progress)          # nothing on a CPU
    losses = step()                 # gradients, their mean over all ranks, clipping, update

`gradients` reads tensors that stay in place, leaves a `.grad` on every parameter and returns losses. The
states it steps are changed in place only, here and by `restore`, since a graph knows addresses and not names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.training.stages.ranks import Ranks

Losses = dict[str, Tensor]
WARM_UPS = 3


def adamw(parameters: list[nn.Parameter], weight_decay: float = 1e-3) -> torch.optim.AdamW:
    """Fused AdamW for VAEs and discriminators, its state complete and in place from the start.

    The learning rate is a tensor, 0 until `set_learning_rate`.
    """
    device = parameters[0].device
    optimizer = torch.optim.AdamW(
        parameters,
        torch.zeros((), device=device),
        betas=(0.8, 0.99),
        weight_decay=weight_decay,
        fused=True,
        capturable=device.type == "cuda",
    )
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    for state in optimizer.state.values():
        state["step"].zero_()
    return optimizer


def guarded_step(optimizer: torch.optim.Optimizer, gradient_norm: Tensor) -> None:
    """Step a fused optimizer, unless the gradient holds an infinity or a NaN; nothing is read back."""
    optimizer.grad_scale = torch.ones_like(gradient_norm)
    optimizer.found_inf = (~gradient_norm.isfinite()).float()
    optimizer.step()


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


@dataclass(frozen=True)
class Group:
    """Parameters, the optimizer that steps them, and the norm to which their gradient is clipped."""

    optimizer: torch.optim.Optimizer
    parameters: list[nn.Parameter]
    most_norm: float = 10.0

    def tensors(self) -> list[Tensor]:
        """Everything a step changes: parameters, and per parameter the optimizer's state."""
        states = (self.optimizer.state[p] for p in self.parameters)
        return [p.detach() for p in self.parameters] + [t for s in states for _, t in sorted(s.items())]

    def update(self, gradient: Tensor) -> None:
        """Clip the flat gradient in place and step."""
        norm = gradient.norm()
        gradient *= (self.most_norm / (norm + 1e-6)).clamp(max=1.0)
        parts = torch._utils._unflatten_dense_tensors(gradient, self.parameters)
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part
        guarded_step(self.optimizer, norm)


def all_tensors(groups: Iterable[Group]) -> list[Tensor]:
    """`Group.tensors` of every group; with `restore` a checkpoint of the optimisation."""
    return [tensor for group in groups for tensor in group.tensors()]


@torch.no_grad()
def restore(groups: Iterable[Group], values: list[Tensor]) -> None:
    """Copy what `all_tensors` gave back into place."""
    for tensor, value in zip(all_tensors(groups), values, strict=True):
        tensor.copy_(value)


class OptimizationStep:
    """See the module. Losses are fresh tensors on the device, not averaged over ranks."""

    def __init__(
        self, gradients: Callable[[], Losses], groups: list[Group], ranks: Ranks, device: torch.device
    ) -> None:
        self._gradients, self._groups, self._ranks, self._device = gradients, groups, ranks, device
        self._graphs: tuple[torch.cuda.CUDAGraph, torch.cuda.CUDAGraph] | None = None
        self._flat: list[Tensor] = []
        self._losses: Losses = {}

    def __call__(self) -> Losses:
        if self._graphs is None:
            self._compute()
            self._ranks.average(self._flat)
            self._update()
        else:
            self._graphs[0].replay()
            self._ranks.average(self._flat)
            self._graphs[1].replay()
        return {name: loss.detach().clone() for name, loss in self._losses.items()}

    def _compute(self) -> None:
        for group in self._groups:
            group.optimizer.zero_grad(set_to_none=True)
        self._losses = self._gradients()
        self._flat = [
            torch._utils._flatten_dense_tensors([p.grad for p in group.parameters]) for group in self._groups
        ]

    def _update(self) -> None:
        for group, flat in zip(self._groups, self._flat, strict=True):
            group.update(flat)

    def capture(self, progress: Progress) -> None:
        """On a GPU, record both parts; parameters and optimizer states are afterwards as they were.

        Where recording fails, steps go on without it.
        """
        if self._device.type != "cuda":
            return
        before = [tensor.clone() for tensor in all_tensors(self._groups)]
        try:
            self._graphs = self._record()
        except Exception as error:  # whatever cannot be recorded still trains, at a third of the speed
            self._graphs = None
            progress.report("warming", not_captured=repr(error)[:2000])
        restore(self._groups, before)
        torch.cuda.synchronize()

    def _record(self) -> tuple[torch.cuda.CUDAGraph, torch.cuda.CUDAGraph]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                self._compute()
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        compute, update = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        # Other threads (NCCL's watchdog) may call CUDA meanwhile.
        with torch.cuda.graph(compute, capture_error_mode="thread_local"):
            self._compute()
        with torch.cuda.graph(update, pool=compute.pool(), capture_error_mode="thread_local"):
            self._update()
        return compute, update
