"""Slots of host memory for blocks of the KV cache, each of them one piece, so that it is one copy over the
bus. Slots that follow each other are one copy, too (`Span`). For a GPU the memory is pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from engine.errors import EngineError

SEGMENT_BYTES = 256 << 20
"""Bytes of pinned memory that are allocated at once; PyTorch rounds them up to a power of two."""


class Span(NamedTuple):
    """`count` slots from `first` on, of which the first has `place` in a list of slots."""

    place: int
    first: int
    count: int


def spans_of(slots: Sequence[int]) -> list[Span]:
    """`slots` in their order, by those that follow each other."""
    found, begin = [], 0
    for place in range(1, len(slots) + 1):
        if place == len(slots) or slots[place] != slots[place - 1] + 1:
            found.append(Span(begin, slots[begin], place - begin))
            begin = place
    return found


class HostSlots:
    """`num_slots` tensors of `shape`.

    Raises:
        EngineError: there is not so much memory.
    """

    def __init__(self, num_slots: int, shape: tuple[int, ...], dtype: torch.dtype, pinned: bool) -> None:
        self.slot_bytes = torch.Size(shape).numel() * dtype.itemsize
        self._per_segment = max(1, SEGMENT_BYTES // self.slot_bytes)
        sizes = [
            min(self._per_segment, num_slots - first) for first in range(0, num_slots, self._per_segment)
        ]
        try:
            self._segments = [torch.zeros(size, *shape, dtype=dtype, pin_memory=pinned) for size in sizes]
        except RuntimeError as error:
            wanted = num_slots * self.slot_bytes / (1 << 30)
            raise EngineError(
                f"the host has no {wanted:.2f} GiB for its part of the KV cache; lower kv_host_gib or "
                f"kv_blocks ({error})"
            ) from error

    def runs(self, spans: Sequence[Span], offset: int = 0) -> Iterator[tuple[int, Tensor]]:
        """The slots of `spans`, counted from `offset`, as few tensors [n, *shape]; each with its place."""
        for place, first, count in spans:
            begin, end = offset + first, offset + first + count
            while begin < end:
                segment, inside = divmod(begin, self._per_segment)
                taken = min(end - begin, self._per_segment - inside)
                yield place, self._segments[segment][inside : inside + taken]
                begin, place = begin + taken, place + taken

    def __getitem__(self, slot: int) -> Tensor:
        return self._segments[slot // self._per_segment][slot % self._per_segment]
