"""Sums and gathers over the ranks of one engine.

group = connect(Place(rank=1, size=2, store="/tmp/…/store", name="…"), device)      # `meeting.py`
group.all_reduce(x)                     # in place
group.gather(x)                         # [size, ...] on rank 0, None elsewhere
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from torch import distributed as dist

CLOSE_SECONDS = 2.0


class Sums(Protocol):
    """A faster way to sums of some sizes, None for others. muted: as of `Group`."""

    muted: bool

    def all_reduce(self, x: Tensor) -> Tensor | None: ...

    def add_and_norm(
        self, partials: Tensor, residual: Tensor, norm: Tensor, eps: float, alpha: float
    ) -> tuple[Tensor, Tensor] | None: ...

    def release(self) -> None: ...


@dataclass(frozen=True)
class Place:
    """The place of one rank in a group. store: a file that all ranks can open. name: nobody else's."""

    rank: int
    size: int
    store: str
    name: str


class Group:
    """See the module.

    Attributes:
        muted: whether nothing is exchanged, as in a rehearsal: what comes out means nothing.
        exchanges: how many there were; another thread may read it.
        waiting: whether the calling thread waits for other ranks now; another thread may read it.
    """

    def __init__(self, place: Place, backend: dist.Backend, sums: Sums | None = None) -> None:
        self.rank, self.size = place.rank, place.size
        self.exchanges, self.waiting, self._muted = 0, False, False
        self._backend, self._sums = backend, sums
        self._aborting: threading.Thread | None = None

    @property
    def muted(self) -> bool:
        return self._muted

    @muted.setter
    def muted(self, muted: bool) -> None:
        self._muted = muted
        if self._sums is not None:
            self._sums.muted = muted

    def all_reduce(self, x: Tensor) -> Tensor:
        """The sum over all ranks, which may take the place of `x`; the same bits on every rank."""
        if self._sums is not None and (total := self._sums.all_reduce(x)) is not None:
            return total
        return self.begin_sum(x)()

    def begin_sum(self, x: Tensor) -> Callable[[], Tensor]:
        """`all_reduce` beside what the device computes next; what comes back waits for it."""
        x = x.contiguous()
        if self.muted or not x.numel():
            return lambda: x
        work = self._backend.allreduce([x])

        def wait() -> Tensor:
            with self._exchange():
                work.wait()
            return x

        return wait

    def add_and_norm(
        self, partials: Tensor, residual: Tensor, norm: Tensor, eps: float, alpha: float
    ) -> tuple[Tensor, Tensor]:
        """`engine.kernels.norms.add_and_norm` of the partials of all ranks, on a device for Triton."""
        from engine.kernels.norms.add_and_norm import add_and_norm

        if self._sums is not None:
            found = self._sums.add_and_norm(partials, residual, norm, eps, alpha)
            if found is not None:
                return found
        own = partials[0] if len(partials) == 1 else partials.sum(0)
        return add_and_norm(self.all_reduce(own)[None], residual, norm, eps, alpha)

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
        """End what waits for a rank that is gone; from any thread. gloo notices by itself.

        NCCL's end waits until no recorded step has a part in it, so nobody waits for that here.
        """
        if self._sums is not None:
            self._sums.release()
        if self._backend.name() == "nccl" and self._aborting is None:
            self._aborting = threading.Thread(target=self._backend.abort, name="abort", daemon=True)
            self._aborting.start()

    def close(self) -> None:
        """Ends it on this rank, once the others have ended and recorded steps are forgotten."""
        self.abort()
        if self._aborting is not None:
            self._aborting.join(CLOSE_SECONDS)

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        self.waiting = True
        try:
            yield
        finally:
            self.waiting = False
            self.exchanges += 1
