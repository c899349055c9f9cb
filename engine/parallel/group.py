"""Sums and gathers over the ranks of one engine.

group = connect(Place(rank=1, size=2, store="/tmp/…/store", name="…"), device)      # `meeting.py`
group.all_reduce(x)                     # in place
group.gather(x)                         # [size, ...] on rank 0, None elsewhere
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch import distributed as dist


class Sums(Protocol):
    """A faster way to sums of some sizes."""

    def serves(self, x: Tensor) -> bool: ...

    def all_reduce(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Place:
    """Of one rank in a group. store: a file that all ranks can open. name: nobody else's."""

    rank: int
    size: int
    store: str
    name: str


class Group:
    """See the module.

    Attributes:
        muted: whether nothing is exchanged, as in a rehearsal: what comes out means nothing.
        exchanges: how many there were. waiting: whether the calling thread waits for other ranks now. Another
            thread may read both.
    """

    def __init__(self, place: Place, backend: dist.Backend, sums: Sums | None = None) -> None:
        self.rank, self.size = place.rank, place.size
        self.exchanges, self.waiting, self.muted = 0, False, False
        self._backend, self._sums = backend, sums

    def all_reduce(self, x: Tensor) -> Tensor:
        """The sum over all ranks, which may take the place of `x`; the same bits on every rank."""
        if self.muted:
            return x
        if self._sums is not None and self._sums.serves(x):
            return self._sums.all_reduce(x)
        x = x.contiguous()
        if x.numel():
            with self._exchange():
                self._backend.allreduce([x]).wait()
        return x

    def all_gather(self, x: Tensor) -> Tensor:
        """x [...] of every rank -> [size, ...]."""
        out = x.new_empty(self.size, *x.shape)
        with self._exchange():
            self._backend.allgather([list(out.unbind(0))], [x.contiguous()]).wait()
        return out

    def gather(self, x: Tensor) -> Tensor | None:
        """x [...] of every rank -> [size, ...] on rank 0, None on the others."""
        out = x.new_empty(self.size, *x.shape) if self.rank == 0 else None
        options = dist.GatherOptions()
        options.rootRank = 0
        if self.muted:
            return out
        with self._exchange():
            targets = [] if out is None else [list(out.unbind(0))]
            self._backend.gather(targets, [x.contiguous()], options).wait()
        return out

    def abort(self) -> None:
        """End what waits for a rank that is gone; from any thread. gloo notices by itself."""
        if self._backend.name() == "nccl":
            self._backend.abort()

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        self.waiting = True
        try:
            yield
        finally:
            self.waiting = False
            self.exchanges += 1
