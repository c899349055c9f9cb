"""A store in which PyTorch's exchanges of symmetric memory are numbered from 0.

PyTorch counts them over the life of a process and looks for the other ranks' parts under its own numbers. A
process that has had an engine over several ranks before would wait for ever for ranks that have just started.
"""

from __future__ import annotations

import re
from datetime import timedelta

from torch import distributed as dist

_NUMBERED = re.compile(r"(?<=SymmetricMemory/)\d+")


class OwnNumbers(dist.Store):
    """`inner`, for the exchanges of one meeting, whose first number is taken for 0."""

    def __init__(self, inner: dist.Store) -> None:
        super().__init__()
        self._inner, self._first = inner, None

    def set(self, key: str, value: bytes) -> None:
        """See `torch.distributed.Store`, as for the others."""
        self._inner.set(self._own(key), value)

    def get(self, key: str) -> bytes:
        return self._inner.get(self._own(key))

    def add(self, key: str, amount: int) -> int:
        return self._inner.add(self._own(key), amount)

    def check(self, keys: list[str]) -> bool:
        return self._inner.check([self._own(key) for key in keys])

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        own = [self._own(key) for key in keys]
        if timeout is None:
            self._inner.wait(own)
        else:
            self._inner.wait(own, timeout)

    def _own(self, key: str) -> str:
        found = _NUMBERED.search(key)
        if found is None:
            return key
        number = int(found[0])
        if self._first is None:
            self._first = number
        return f"{key[: found.start()]}{number - self._first}{key[found.end() :]}"
