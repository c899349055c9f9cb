"""Functions of tensors that run as one call, without Python between their operators.

    @scripted
    def halve_sum(x: Tensor, y: Tensor) -> Tensor:
        return (x + y) / 2

The result is TorchScript: the same operators in the same order, and so the same bits. Two things are gained
where operators are small, as on a CPU. They follow each other without the interpreter, which takes as long as
many of them. And the whole call holds no interpreter lock, so that threads which compute side by side do not
wait for each other at every operator.

Where PyTorch has no TorchScript any more, or lacks an operator, the function itself runs.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

logger = logging.getLogger(__name__)

Code = TypeVar("Code", bound=Callable)


def scripted(code: Code) -> Code:
    """A function or module as TorchScript; annotations must be what TorchScript knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return torch.jit.script(code)
        except (RuntimeError, AttributeError) as error:
            logger.info("%s runs without TorchScript: %s", getattr(code, "__name__", type(code)), error)
            return code


def scripted_as(known: nn.Module, module: nn.Module) -> nn.Module:
    """`module` as TorchScript, by way of what `scripted` made of one that differs in its tensors alone.

    Nothing is compiled, which would hold up threads that want the interpreter.
    """
    if not isinstance(known, torch.jit.ScriptModule):
        return module
    found = copy.deepcopy(known)
    parts = dict(found.named_modules())
    for name, part in module.named_modules():
        for attribute, value in vars(part).items():
            if isinstance(value, Tensor):
                setattr(parts[name], attribute, value)
    return found
