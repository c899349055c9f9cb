"""Rehearsals of a recording: a few layers launch every kernel that all layers of a stack do.

Recording a step costs the host as much as launching it, and what goes before, which loads kernels and lets
libraries make their workspaces, would cost as much again:

    with few_layers():
        compute()                    # of no meaning but for what it launches
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Layer = TypeVar("Layer")

_rehearsing: ContextVar[bool] = ContextVar("rehearsing", default=False)


@contextmanager
def few_layers() -> Iterator[None]:
    """Within, stacks of fused layers run what `to_run` leaves of them."""
    token = _rehearsing.set(True)
    try:
        yield
    finally:
        _rehearsing.reset(token)


def to_run(layers: Sequence[Layer]) -> Sequence[Layer]:
    """All layers of a stack; in a rehearsal the first, one like all between and the last."""
    return [*layers[:2], layers[-1]] if _rehearsing.get() and len(layers) > 3 else layers
