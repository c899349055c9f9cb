"""Which row of a batch has the adapter of which slot, and what that adds to products on the device.

rows = SlotRows(bank.generation, turns)        # of the device; or slots on the host, for one batch alone
hidden = model.base_lm(x, rope, attention, deltas=rows.deltas("base_lm"))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from engine.kernels.low_rank import LowRankSlots, expand_, shrink
from engine.layers.low_rank import NOTHING, Deltas, turns_of
from engine.staging import upload
from models.lora.bank import Generation
from models.transformer.stack import PRODUCTS


class SlotRows:
    """The form of `models.lora.rows.RowAdapters` for slots of a device."""

    def __init__(self, generation: Generation, slots: Tensor | np.ndarray, branches: int = 1) -> None:
        """slots: on the host int32 [N], -1 for a row without; on the device what `turns_of` makes of them.
        All rows stand there `branches` times.
        """
        self._generation, self._slots, self._branches = generation, slots, branches

    def repeated(self, counts: Sequence[int]) -> SlotRows:
        """Row i `counts[i]` times; of slots on the host."""
        return SlotRows(self._generation, np.repeat(self._slots, counts))

    def chosen(self, rows: Sequence[int] | np.ndarray) -> SlotRows:
        """Only some rows, in that order; of slots on the host."""
        return SlotRows(self._generation, self._slots[rows])

    def twice(self) -> SlotRows:
        """All rows, and all again after them."""
        return SlotRows(self._generation, self._slots, 2 * self._branches)

    def deltas(self, module: str) -> SlotDeltas | Deltas:
        """What is added to the products of a module."""
        found = SlotDeltas(self, module)
        return found if found.products else NOTHING

    def add(self, y: Tensor, x: Tensor, module: str) -> Tensor:
        """y = W x of a linear layer with what is added to it, in place."""
        self.expand((module, 0), y, self.shrink((module, 0), x))
        return y

    def shrink(self, key: tuple[str, int], x: Tensor) -> Tensor | None:
        """See `engine.kernels.low_rank.shrink`; None where no slot has anything for that product."""
        weights = self._weights(key)
        return None if weights is None else shrink(x, weights, self._turns(), self._branches)

    def expand(self, key: tuple[str, int], y: Tensor, hidden: Tensor | None, alpha: float = 1.0) -> None:
        """See `engine.kernels.low_rank.expand_`; of None nothing is added."""
        weights = self._weights(key)
        if weights is not None and hidden is not None:
            expand_(y, hidden, weights, self._turns(), self._branches, alpha)

    def _weights(self, key: tuple[str, int]) -> LowRankSlots | None:
        layout = self._generation.layout
        place = layout.places.get(key)
        return place and LowRankSlots(self._generation.storage, place, layout.shape.rank)

    def _turns(self) -> Tensor:
        if isinstance(self._slots, np.ndarray):
            self._slots = upload(turns_of(self._slots), self._generation.storage.device)
        return self._slots

    def products(self, module: str) -> frozenset[int]:
        """Which products of its layers a module's adapters change."""
        kinds = self._generation.layout.shape.kinds
        return frozenset(product for name, product in kinds if name == module)


class SlotDeltas:
    """What slots add to the products of a stack, see `models.transformer.fused.ProductDeltas`."""

    def __init__(self, rows: SlotRows, module: str) -> None:
        self.rows, self._module = rows, module
        self.products = rows.products(module)

    def shrink(self, layer: int, product: int, x: Tensor) -> Tensor | None:
        """The first half of what is added to a product of a layer; None where nothing is."""
        if product not in self.products:
            return None
        return self.rows.shrink((self._module, PRODUCTS * layer + product), x)

    def expand(self, layer: int, product: int, y: Tensor, hidden: Tensor | None, alpha: float = 1.0) -> None:
        """The second half: y += alpha * what is added to the product y."""
        if hidden is not None:
            self.rows.expand((self._module, PRODUCTS * layer + product), y, hidden, alpha)
