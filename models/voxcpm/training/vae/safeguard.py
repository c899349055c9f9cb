"""Takes a training back when its loss jumps.

An audio VAE at a bold learning rate now and then leaves its valley within a few steps and does not return.
The safeguard is shown the mean loss of each stretch of steps; where that is far above the best one, it
restores an earlier state and halves the learning rate:

    safeguard.remember()                       # once, where training starts or goes on
    if safeguard.check(mean_loss): ...         # after each stretch; True when it restored
    rate = base_rate * safeguard.rate_scale
"""

from __future__ import annotations

from collections import deque

from torch import Tensor

from models.voxcpm.training.stages.optimization import Group, all_tensors, restore

KEPT = 3
REMEMBER_EVERY = 4
MOST_GROWTH, MARGIN = 1.25, 0.4


class Safeguard:
    """Keeps the last KEPT states of parameters and optimizers and goes back to the oldest.

    The oldest, because a jump builds up over several stretches. In a data-parallel run every rank has its
    own, and all turn back together as long as `check` is given the same loss everywhere.
    """

    def __init__(self, groups: list[Group]) -> None:
        self.rate_scale = 1.0
        self.rollbacks = 0
        self._groups = groups
        self._best = float("inf")
        self._healthy = 0
        self._states: deque[list[Tensor]] = deque(maxlen=KEPT)

    def remember(self) -> None:
        """Keep the present state as one to go back to."""
        self._states.append([tensor.clone() for tensor in all_tensors(self._groups)])

    def check(self, loss: float) -> bool:
        """Note a stretch's mean loss; True when it was too high (or no number) and a state was restored."""
        if not loss <= MOST_GROWTH * self._best + MARGIN:
            restore(self._groups, self._states[0])
            self.rate_scale *= 0.5
            self.rollbacks += 1
            return True
        self._best = min(self._best, loss)
        self._healthy += 1
        if self._healthy % REMEMBER_EVERY == 0:
            self.remember()
        return False
