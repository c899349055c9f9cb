"""Functions of tensors that run as one call, without Python between their operators.

    @scripted
    def halve_sum(x: Tensor, y: Tensor) -> Tensor:
        return (x + y) / 2

The result is TorchScript: the same operators in the same order, and so the same bits. Two things are gained
where operators are small, as on a CPU. They follow each other without the interpreter, which takes as long as
many of them. And the whole call holds no interpreter lock, so that threads which compute side by side do not
wait for each other at every operator.

Where PyTorch has no TorchScript any more, the function itself runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

import torch

Function = TypeVar("Function", bound=Callable)


def scripted(function: Function) -> Function:
    """The function as TorchScript; annotations must be what TorchScript knows, evaluated or not."""
    if not hasattr(torch.jit, "script"):
        return function
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(function)
