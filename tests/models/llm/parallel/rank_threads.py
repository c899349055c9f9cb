"""Ranks that are threads of one process: all at the same time, or one after the other."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from engine.parallel.group import Group, Place
from engine.parallel.meeting import connect

SIZE = 2
"""Ranks that take turns."""
Result = TypeVar("Result")


class Turns:
    """Sums of threads that take turns."""

    def __init__(self) -> None:
        self.baton = threading.Lock()
        self._parts: list[Tensor] = [torch.empty(0)] * SIZE
        self._met = threading.Barrier(SIZE)

    def all_reduce(self, rank: int, x: Tensor) -> Tensor:
        self._parts[rank] = x
        self.baton.release()
        self._met.wait()
        total = torch.stack(self._parts).sum(0)
        self._met.wait()
        self.baton.acquire()
        return total


class TakingTurns(Group):
    def __init__(self, rank: int, turns: Turns) -> None:
        super().__init__(Place(rank, SIZE, "", ""), None)
        self._turns = turns

    def begin_sum(self, x: Tensor) -> Callable[[], Tensor]:
        total = self._turns.all_reduce(self.rank, x)
        return lambda: total


def on_ranks(size: int, folder: Path, compute: Callable[[Group], Result]) -> list[Result]:
    """`compute` on every rank of a new group at the same time."""
    name = secrets.token_hex(4)

    def run(rank: int) -> Result:
        with torch.inference_mode():
            return compute(connect(Place(rank, size, str(folder / name), name), torch.device("cpu")))

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(run, range(size)))
