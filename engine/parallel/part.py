"""Which part of a model one rank has.

Attention is divided by heads and the MLP by its inner size, so that a layer needs two sums over all ranks:
after the output projection, and after the MLP's last product. Where there are fewer heads of keys and values
than ranks, several ranks have the same one. With 8 query heads, 2 heads of keys and 4 ranks, rank 3 has:

    q, kv = Part(3, 4).heads(8, 2)          # range(6, 8), range(1, 2)
    Part(3, 4).cut(1024, "vocab_size")      # Cut(0, 768, 1024, 1024)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from engine.errors import RequestError

if TYPE_CHECKING:
    from engine.parallel.group import Group

MOST_RANKS = 64
PARAM = "tensor_parallel_size"


class Cut(NamedTuple):
    """[begin, end) of dimension `dim` of a tensor that has `total` there."""

    dim: int
    begin: int
    end: int
    total: int

    @property
    def size(self) -> int:
        return self.end - self.begin

    def of(self, whole: Tensor) -> Tensor:
        """A view of this part."""
        return whole.narrow(self.dim, self.begin, self.size)

    def whole_shape(self, part: Tensor) -> list[int]:
        """The shape of what `part` is a part of."""
        shape = list(part.shape)
        shape[self.dim] = self.total
        return shape


@dataclass(frozen=True)
class Part:
    """Rank `rank` of `size`. group: how it sums with the others; None for a plan that computes nothing.

    Raises RequestError (of `tensor_parallel_size`) for a size out of range, and where a model cannot be
    divided so.
    """

    rank: int = 0
    size: int = 1
    group: Group | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.size, int) and not isinstance(self.size, bool)
        if not whole or not 1 <= self.size <= MOST_RANKS:
            problem = f"{PARAM} must be between 1 and {MOST_RANKS}, got {self.size!r}"
            raise RequestError(problem, PARAM, "out_of_range")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing is exchanged with other ranks within, and what comes out of a sum means nothing."""
        if self.group is None:
            yield
            return
        self.group.muted = True
        try:
            yield
        finally:
            self.group.muted = False

    def cut(self, total: int, name: str) -> Cut:
        """An equal part of `total` rows; name: of the size, as the configuration calls it."""
        each = self._each(total, name)
        return Cut(0, self.rank * each, (self.rank + 1) * each, total)

    def heads(self, num_heads: int, num_kv_heads: int) -> tuple[range, range]:
        """The query heads of this rank, and the key and value heads that they attend to."""
        each = self._each(num_heads, "num_attention_heads")
        queries = range(self.rank * each, (self.rank + 1) * each)
        if num_kv_heads < self.size and self.size % num_kv_heads == 0:
            shared = self.rank * num_kv_heads // self.size
            return queries, range(shared, shared + 1)
        each = self._each(num_kv_heads, "num_key_value_heads")
        return queries, range(self.rank * each, (self.rank + 1) * each)

    def _each(self, total: int, name: str) -> int:
        if total % self.size:
            problem = f"{PARAM} {self.size}: this model has a {name} of {total}, which is no multiple of it"
            raise RequestError(problem, PARAM)
        return total // self.size


WHOLE = Part()
"""The part of an engine without other ranks."""
