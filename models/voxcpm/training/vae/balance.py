"""How loud the discriminators are heard beside the mel loss: the balancer of Défossez et al. 2022.

The adversarial gradient at the decoder's output is scaled to a fixed share of the mel gradient's norm, so
that the mel loss keeps falling.
"""

from __future__ import annotations

import torch
from torch import Tensor

SMOOTHING = 0.05  # weight of the newest gradient norm in the running ones


class RunningMean:
    """Exponential mean of a scalar on the device, changed in place; without bias from its start."""

    def __init__(self, device: torch.device) -> None:
        self._sum, self._weight = torch.zeros((), device=device), torch.zeros((), device=device)

    def add(self, value: Tensor) -> Tensor:
        """Take one value in; returns the mean so far, above 0. What is not finite counts as 0."""
        value = torch.nan_to_num(value, 0.0, 0.0, 0.0)
        self._sum.lerp_(value, SMOOTHING)
        self._weight.lerp_(torch.ones_like(self._weight), SMOOTHING)
        return (self._sum / self._weight).clamp_min(1e-8)

    def forget(self) -> None:
        self._sum.zero_()
        self._weight.zero_()


class Balance:
    """Balances two gradients. All of it stays on the device, so that a captured step can be replayed."""

    def __init__(self, device: torch.device) -> None:
        self._ratio = torch.zeros((), device=device)
        self._mel, self._adversarial = RunningMean(device), RunningMean(device)

    def set_ratio(self, ratio: float) -> None:
        """The share that is wanted."""
        self._ratio.fill_(ratio)

    def share(self, mel: Tensor, adversarial: Tensor) -> Tensor:
        """What to multiply `adversarial` with, so that it has its share of the norm of `mel`."""
        return self._ratio * self._mel.add(mel.norm()) / self._adversarial.add(adversarial.norm())

    def forget(self) -> None:
        """What the gradients were like so far."""
        self._mel.forget()
        self._adversarial.forget()
