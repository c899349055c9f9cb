"""Samples in a file instead of memory: those of ten thousand recordings are four gigabytes.

with Shelf(folder) as shelf:
    shelf.put(samples)
    ...
    every = shelf.rows()        # read when somebody looks at them
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np


class Shelf:
    """A file without a name in `folder` (None: the system's), which is gone with the last of its rows.

    Raises OSError, as where the disk is full.
    """

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._counts: list[int] = []

    def put(self, samples: np.ndarray) -> None:
        """One more row: float32 [n]."""
        self._file.write(np.ascontiguousarray(samples, np.float32))
        self._counts.append(len(samples))

    def rows(self) -> list[np.ndarray]:
        """All of them, in their order."""
        if not any(self._counts):
            return [np.empty(0, np.float32) for _ in self._counts]
        self._file.flush()
        whole = np.asarray(np.memmap(self._file, np.float32, "r"))
        return np.split(whole, np.cumsum(self._counts)[:-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
