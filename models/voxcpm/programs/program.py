"""What the programs of a step have in common: a computation at fixed addresses, and who takes part in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from engine.device.cuda_graphs import Compute

Along = Callable[[np.ndarray, np.ndarray], AbstractContextManager[None]]
"""Around a launch, with two flat arrays that a `replay` takes: other ranks launch the same."""


class StepProgram(ABC):
    """See the module."""

    def __init__(self) -> None:
        self._launch: Compute = self.compute
        self._along: Along = lambda first, second: nullcontext()

    def use(self, launch: Compute) -> None:
        """Let `launch`, a recording of `compute`, run in its place."""
        self._launch = launch

    def lead(self, along: Along) -> None:
        """Have other ranks launch along from now on."""
        self._along = along

    @abstractmethod
    def compute(self) -> None:
        """The computation itself: tensors in, tensors out, no word with the host."""

    def rehearse(self) -> None:
        """Launches what `compute` launches, each kernel at least once; see `GraphRecorder.record`."""
        self.compute()

    @abstractmethod
    def replay(self, first: bytes, second: bytes) -> None:
        """Launch what rank 0 launched, with what it had filled in."""
