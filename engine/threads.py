"""The threads that PyTorch computes a step with on a CPU.

`StepThreads` sets their number before each step, as `ThreadChoice` chose it. Another number may not make
another clip of the same seed: PyTorch's plain products and its attention cut their work differently for
another number, and round differently then, which scalar quantisation turns into other speech after a second
or two. Both are small on the CPU path, so one thread computes them (`one_thread`). Large products are packed
ones, which round alike for any number. `tests/models/test_threads.py` compares the latents of whole clips.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from engine.cpus import given_threads, thread_limit
from engine.thread_choice import ThreadChoice


class StepThreads:
    """Sets the number of threads before a step, and learns from how long it took.

    Args:
        limit: threads at most; None takes what this machine has for one engine, or less where PyTorch was
            told so.

    `OMP_NUM_THREADS` is obeyed and never changed.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._adapts = given_threads() is None
        self.choice = ThreadChoice(limit or min(thread_limit(), torch.get_num_threads()))

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around one step, in the thread that computes it."""
        if torch.get_num_threads() != self.choice.threads:
            torch.set_num_threads(self.choice.threads)
        began, computed_before = self.choice.clock(), time.thread_time()
        yield
        if self._adapts:
            self.choice.observe(began, self.choice.clock(), time.thread_time() - computed_before)


@contextmanager
def one_thread() -> Iterator[None]:
    """CPU operators inside are computed by the calling thread alone. Costs a microsecond."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class OneThreadLinear(nn.Module):
    """y = x W^T + b, for a product too small for packing; shares the parameters of `linear`."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] -> [..., out_features]."""
        with one_thread():
            return nn.functional.linear(x, self.weight, self.bias)
