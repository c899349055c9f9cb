"""Which row of a batch has the adapter of which slot, and what that adds to products on the device.

rows = SlotRows(bank.generation, turns)        # of the device; or slots on the host, for one batch alone
hidden = model.base_lm(x, rope, attention, deltas=rows.deltas("base_lm"))
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from engine.device.staging import upload
from engine.kernels.low_rank.around import with_low_rank
from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros
from engine.kernels.low_rank.within import MAX_ENTRIES
from engine.layers.low_rank import NOTHING, Deltas, entries_of, turns_of
from models.lora.bank import Generation
from models.transformer.stack import PRODUCTS


class SlotRows:
    """The form of `models.lora.rows.RowAdapters` for slots of a device."""

    def __init__(
        self,
        generation: Generation,
        slots: Tensor | np.ndarray,
        branches: int = 1,
        zeros: Zeros | None = None,
    ) -> None:
        """slots: on the host int32 [N], -1 for a row without; on the device what `turns_of` makes of them.
        All rows stand there `branches` times. zeros: of the step, where there are some.
        """
        self._generation, self._slots, self._branches = generation, slots, branches
        self._zeros = zeros or Zeros(generation.storage.device)

    def repeated(self, counts: Sequence[int]) -> SlotRows:
        """Row i `counts[i]` times; of slots on the host."""
        return self._with(np.repeat(self._slots, counts))

    def chosen(self, rows: Sequence[int] | np.ndarray) -> SlotRows:
        """Only some rows, in that order; of slots on the host."""
        return self._with(self._slots[rows])

    def twice(self) -> SlotRows:
        """All rows, and all again after them."""
        return self._with(self._slots, 2 * self._branches)

    def _with(self, slots: Tensor | np.ndarray, branches: int = 1) -> SlotRows:
        return SlotRows(self._generation, slots, branches, self._zeros)

    def deltas(self, module: str) -> SlotDeltas | Deltas:
        """What is added to the products of a module."""
        found = SlotDeltas(self, module)
        return found if found.products else NOTHING

    def add(self, y: Tensor, x: Tensor, module: str) -> Tensor:
        """y = W x of a linear layer with what is added to it, in place."""
        rows = self.of((module, 0))
        return y if rows is None else with_low_rank(lambda: y, x, rows)

    def of(self, key: tuple[str, int]) -> LowRankRows | None:
        """What is added to a product; None where no slot has anything for it."""
        layout = self._generation.layout
        place = layout.places.get(key)
        if place is None:
            return None
        generation = self._generation
        slots = LowRankSlots(generation.storage, place, layout.shape.rank, generation.signals)
        return LowRankRows(slots, self._turns(), self._zeros, self._branches)

    @property
    def num_entries(self) -> int:
        return entries_of(len(self._turns()))

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

    @property
    def uses_zeros(self) -> bool:
        """Whether kernels may use up zeros of the step, so that they cannot be launched again as they are."""
        return self.rows.num_entries <= MAX_ENTRIES

    def of(self, layer: int, product: int) -> LowRankRows | None:
        """What is added to a product of a layer; None where nothing is."""
        return self.rows.of((self._module, PRODUCTS * layer + product))
