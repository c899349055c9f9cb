"""Places in which the device remembers sequences between their steps.

A sequence keeps its slot between its steps. When all are taken, the one that was used longest ago gives way.
One slot more, `spare_slot`, belongs to nobody: what rows without a sequence compute goes there.
"""

from __future__ import annotations

from collections import OrderedDict

from engine.sequence import Sequence


class Slots:
    """Assigns sequences to slots 0 .. num_slots - 1."""

    def __init__(self, num_slots: int) -> None:
        self.spare_slot = num_slots
        self._free = list(range(num_slots))
        self._slots: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, sequence: Sequence) -> bool:
        """Whether the sequence has a slot at present."""
        return sequence.request_id in self._slots

    def find(self, sequences: list[Sequence]) -> tuple[list[int], list[int]]:
        """The slot of each sequence, and the indices of those that have only now got theirs."""
        for sequence in sequences:
            if sequence.request_id in self._slots:
                self._slots.move_to_end(sequence.request_id)
        slots, new = [], []
        for index, sequence in enumerate(sequences):
            slot = self._slots.get(sequence.request_id)
            if slot is None:
                slot = self._free.pop() if self._free else self._slots.popitem(last=False)[1]
                self._slots[sequence.request_id] = slot
                new.append(index)
            slots.append(slot)
        return slots, new

    def release(self, sequence: Sequence) -> None:
        """Nothing more will be asked for this sequence."""
        slot = self._slots.pop(sequence.request_id, None)
        if slot is not None:
            self._free.append(slot)
