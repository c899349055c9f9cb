"""Random numbers that are a function of a seed and a position alone.

Philox is a counter-based generator (Salmon et al. 2011): its key is the pair, so neither the batch, the
device nor what was drawn before enters.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np


class _KeyedGenerator(threading.local):
    """One generator per thread, set to a key: three times as fast as making one."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=np.zeros(2, dtype=np.uint64))
        self._generator = np.random.Generator(self._bits)
        self._state: dict[str, Any] = self._bits.state
        """At the beginning of its stream; what is drawn changes the generator's own copy."""

    def keyed(self, *key: int) -> np.random.Generator:
        self._state["state"]["key"][:] = key
        self._bits.state = self._state
        return self._generator


_generator = _KeyedGenerator()


def keyed_generator(seed: int, position: int) -> np.random.Generator:
    """The generator at the beginning of the stream of `seed` and `position`, both in 0 .. 2**64 - 1.

    It belongs to the calling thread and is moved by the next call there.
    """
    return _generator.keyed(seed, position)
