"""The threads that PyTorch computes a step with on a CPU.

`StepThreads` sets their number before each step, as `ThreadChoice` chose it. Another number may not make
another clip of the same seed, nor another answer: PyTorch's plain products and its attention in fp32 cut
their work differently for another number, and round differently then, which scalar quantisation turns into
other speech after a second or two. Both are small on the CPU path, so one thread computes them
(`one_thread`). Large products are packed ones, which round alike for any number.
`tests/models/engine/test_threads.py` compares the latents of whole clips.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from engine.cpu.cpus import given_threads, thread_limit
from engine.cpu.thread_choice import ThreadChoice

Result = TypeVar("Result")
OWN_SHARE = 3
"""A third of the threads go on with the step while the others compute beside it."""


class StepThreads:
    """Sets the number of threads before a step, and learns from how long it took.

    Args:
        limit: threads at most, those of `beside` included; None takes what this machine has for one engine,
            or less where PyTorch was told so.
        beside: whether there will be work for `beside`. The second thread is for that alone then; otherwise
            a step is computed with both.

    `OMP_NUM_THREADS` is obeyed and never changed.
    """

    def __init__(self, limit: int | None = None, *, beside: bool = True) -> None:
        self._adapts, self._beside = given_threads() is None, beside
        limit = limit or min(thread_limit(), torch.get_num_threads())
        self.choice = ThreadChoice(limit, two_meet=not beside)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="engine-beside")
        self._step = _Times()

    @property
    def may_share(self) -> bool:
        """Whether there is a thread for work beside that of the step."""
        return self.choice.threads > 1

    @property
    def _alone(self) -> int:
        """Threads where nothing is computed beside. Where something will be, the second one is for that:
        speech gains nothing from two that meet at every operator, and suffers from everybody who takes a CPU
        for a moment. Products of text models are larger."""
        return 1 if self._beside and self.choice.threads == 2 else self.choice.threads

    @contextmanager
    def step(self) -> Iterator[None]:
        """Around one step, in the thread that computes it."""
        _set_threads(self._alone)
        self._step = _Times()
        began, computed_before = self.choice.clock(), time.thread_time()
        yield
        if self._adapts:
            ended = self.choice.clock()
            ready = ended - began + self._step.ready
            computing = time.thread_time() - computed_before + self._step.computing
            self.choice.observe(began, ended, computing, ready)

    def beside(self, work: Callable[[], Result]) -> Future:
        """Begins `work` in a thread of its own, with a part of the threads; one work at a time.

        The caller has the others until `wait`, which is to be called before the next `beside`.
        """
        own = max(1, self.choice.threads // OWN_SHARE)
        _set_threads(own)
        try:
            return self._executor.submit(_timed, work, self.choice.threads - own)
        except RuntimeError:  # the interpreter ends, and its executors before this thread
            done: Future = Future()
            done.set_result(_timed(work, own))
            return done

    def wait(self, work: Future) -> Any:
        """What the work returned; raises what it raised."""
        began = self.choice.clock()
        try:
            result, times = work.result()
        finally:
            self._step.ready -= self.choice.clock() - began
            _set_threads(self._alone)
        self._step.ready += times.ready
        self._step.computing += times.computing
        return result

    def close(self) -> None:
        """Ends the thread of `beside`, once its work is done."""
        self._executor.shutdown()


@dataclass
class _Times:
    """Seconds that threads were ready to compute, and that they did."""

    ready: float = 0.0
    computing: float = 0.0


def _timed(work: Callable[[], Result], threads: int) -> tuple[Result, _Times]:
    _set_threads(threads)
    began, computed_before = time.monotonic(), time.thread_time()
    result = work()
    return result, _Times(time.monotonic() - began, time.thread_time() - computed_before)


def _set_threads(count: int) -> None:
    """Set the thread count of the calling thread; others have their own."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


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
