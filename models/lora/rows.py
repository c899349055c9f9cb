"""Which row of a batch has which adapter, while the rows of the batch become positions, patches and pairs.

rows = RowAdapters.of([None, anna, anna])      # None where nobody has one
positions = rows.repeated([1, 5, 1])           # a row each for the positions of three sequences
hidden = model.base_lm(x, rope, attention, deltas=deltas_of(positions, "base_lm"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from engine.device.staging import upload
from engine.layers.low_rank import NOTHING, Deltas, with_low_rank


class OwnDecoder(Protocol):
    """What turns an adapter's latents into audio; one that leaves the model's decoder as it is has none."""

    num_bytes: int


@dataclass(frozen=True, eq=False)
class LoadedAdapter:
    """An adapter in the form of a model on its device.

    modules: name of a stack or a linear layer -> its `Deltas.weights`.
    decoder: see `OwnDecoder`.
    """

    digest: str
    modules: Mapping[str, list[Tensor]]
    device: torch.device
    decoder: OwnDecoder | None = None

    @property
    def num_bytes(self) -> int:
        """Of its tensors."""
        own = sum(tensor.nbytes for tensors in self.modules.values() for tensor in tensors)
        return own + (self.decoder.num_bytes if self.decoder is not None else 0)


class BatchAdapters(Protocol):
    """Which row of a batch has which adapter: a `RowAdapters`, or on some devices a `SlotRows`."""

    def repeated(self, counts: Sequence[int]) -> BatchAdapters:
        """Row i `counts[i]` times."""

    def chosen(self, rows: Sequence[int] | np.ndarray) -> BatchAdapters:
        """Only some rows, in that order; of a mask those that are set."""

    def twice(self) -> BatchAdapters:
        """All rows, and all again after them."""

    def deltas(self, module: str) -> Any:
        """What is added to the products of a stack, in the form it takes."""

    def add(self, y: Tensor, x: Tensor, module: str) -> Tensor:
        """y = W x of a linear layer with what is added to it; `y` may be overwritten."""


class RowAdapters:
    """Adapters of the rows of one tensor; rows may have none."""

    def __init__(self, adapters: tuple[LoadedAdapter, ...], of_row: np.ndarray) -> None:
        """of_row: int64 [N], indices into `adapters`, -1 for a row without."""
        self._adapters, self._of_row = adapters, of_row
        self._rows: list[Tensor | None] | None = None

    @classmethod
    def of(cls, rows: Sequence[LoadedAdapter | None]) -> RowAdapters | None:
        """None where no row has one."""
        adapters = tuple(dict.fromkeys(adapter for adapter in rows if adapter is not None))
        places = {adapter: place for place, adapter in enumerate(adapters)}
        return cls(adapters, np.array([places.get(row, -1) for row in rows])) if adapters else None

    def repeated(self, counts: Sequence[int]) -> RowAdapters:
        """Row i `counts[i]` times."""
        return RowAdapters(self._adapters, np.repeat(self._of_row, counts))

    def chosen(self, rows: Sequence[int] | np.ndarray) -> RowAdapters:
        """Only some rows, in that order; of a mask those that are set."""
        return RowAdapters(self._adapters, self._of_row[rows])

    def twice(self) -> RowAdapters:
        """All rows, and all again after them."""
        return RowAdapters(self._adapters, np.tile(self._of_row, 2))

    def deltas(self, module: str) -> Deltas:
        """What is added to the products of a module."""
        if self._rows is None:
            self._rows = [self._rows_of(place) for place in range(len(self._adapters))]
        found = [
            (rows, adapter.modules[module])
            for rows, adapter in zip(self._rows, self._adapters, strict=True)
            if module in adapter.modules and (rows is None or len(rows))
        ]
        return Deltas([rows for rows, _ in found], [weights for _, weights in found]) if found else NOTHING

    def add(self, y: Tensor, x: Tensor, module: str) -> Tensor:
        """y = W x of a linear layer with what is added to it; `y` may be overwritten."""
        return with_low_rank(y, x, *self.deltas(module), 0)

    def _rows_of(self, place: int) -> Tensor | None:
        rows = np.flatnonzero(self._of_row == place)
        return None if len(rows) == len(self._of_row) else upload(rows, self._adapters[place].device)


def deltas_of(rows: BatchAdapters | None, module: str) -> Any:
    """`RowAdapters.deltas`, nothing without adapters."""
    return NOTHING if rows is None else rows.deltas(module)


def adapted(layer: nn.Module, x: Tensor, rows: BatchAdapters | None, module: str) -> Tensor:
    """What a linear layer, `module` of its model, makes of x [N, ..., in_features] with adapters."""
    return layer(x) if rows is None else rows.add(layer(x), x, module)
