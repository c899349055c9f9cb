"""Adapters on a device that runs recorded steps: slots at fixed addresses, filled while streams go on.

    bank = AdapterBank(products, torch.bfloat16, device, num_slots=32)
    adapter = bank.load(adapter)               # any thread: checked, in form, in pinned memory
    slots = bank.place([adapter, None])        # the engine's thread: [3, -1]; copied if it was not there
    ...                                        # launch what reads them
    bank.read(slots)                           # until then nothing takes their place

A copy travels on a stream of its own, once the last step that read the slot is done, and the steps that read
it wait for it on the device. The host waits for nothing. All slots have one layout, with room for the
products and the rank that adapters so far have asked for; one that asks for more makes new slots, and
programs that were recorded for the old ones (`generation`) are recorded anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.device.devices import on_device
from engine.device.side_stream import cuda_stream
from engine.errors import RequestError
from models.lora.adapter import Adapter
from models.lora.layout import NO_ROOM, Products, SlotLayout, SlotShape, shape_of

_PIECE = 1 << 20
"""Elements that are pinned and copied at once: a launch would wait for more to be pinned, and other copies to
the device find room in between."""


@dataclass(frozen=True, eq=False)
class SlotAdapter:
    """An adapter as it lies in a slot, on the host; `pieces` are parts of the row."""

    digest: str
    layout: SlotLayout
    pieces: tuple[Tensor, ...]

    @property
    def num_bytes(self) -> int:
        return sum(piece.nbytes for piece in self.pieces)


@dataclass(frozen=True, eq=False)
class Generation:
    """Slots of one layout: storage [slots, layout.size]."""

    layout: SlotLayout
    storage: Tensor


class AdapterBank:
    """See the module; `load` may be called from any thread, the others from that of the engine."""

    def __init__(self, products: Products, dtype: torch.dtype, device: torch.device, num_slots: int) -> None:
        self.device, self.num_slots = device, num_slots
        self._products, self._dtype = products, dtype
        self._lock = threading.Lock()
        self._latest = self._make(SlotLayout(products, NO_ROOM))
        self.generation = self._latest
        """What programs are recorded for."""
        self._slots: OrderedDict[str, int] = OrderedDict()
        """Digest -> slot, the latest used last."""
        self._free = list(range(num_slots))
        self._last_read: dict[int, torch.cuda.Event] = {}
        self.num_copies = 0

    def load(self, adapter: Adapter) -> SlotAdapter:
        """An adapter in the form of the slots. Raises RequestError where the device has no room for it."""
        layers = dict(adapter.scaled())
        layout = self.reserve(shape_of(self._products, layers))
        row = torch.zeros(layout.size, dtype=self._dtype)
        layout.pack(layers, row)
        return SlotAdapter(adapter.digest, layout, self._pieces(row))

    def _pieces(self, row: Tensor) -> tuple[Tensor, ...]:
        pieces = row.split(_PIECE)
        if self.device.type != "cuda":
            return pieces
        with on_device(self.device):
            return tuple(piece.pin_memory() for piece in pieces)

    def reserve(self, wanted: SlotShape) -> SlotLayout:
        """Make room for adapters of that shape; how they will lie in the slots. Raises RequestError."""
        with self._lock:
            shape = self._latest.layout.shape
            if not shape.holds(wanted):
                self._latest = self._make(SlotLayout(self._products, shape.with_room_for(wanted)))
            return self._latest.layout

    def _make(self, layout: SlotLayout) -> Generation:
        try:
            storage = torch.zeros(self.num_slots, layout.size, dtype=self._dtype, device=self.device)
        except torch.OutOfMemoryError as error:
            size = self.num_slots * layout.size * self._dtype.itemsize
            raise RequestError(
                f"{self.num_slots} slots with room for this adapter take {size >> 20} MiB of {self.device}, "
                "which has not so much left; fewer slots (adapter_slots) or a smaller cache (kv_blocks) "
                "make room",
                param="adapter",
                code="adapter_too_large",
            ) from error
        return Generation(layout, storage)

    def place(self, adapters: Sequence[SlotAdapter | None]) -> list[int] | None:
        """The slot of each, -1 for none; None where there are more different ones than slots.

        Those that are not in a slot take the place of the least recently used.
        """
        wanted = {adapter.digest: adapter for adapter in adapters if adapter is not None}
        if len(wanted) > self.num_slots:
            return None
        if wanted:
            self.renew()
        for digest in wanted:
            if digest in self._slots:
                self._slots.move_to_end(digest)
        for digest, adapter in wanted.items():
            if digest not in self._slots:
                slot = self._free.pop() if self._free else self._slots.popitem(last=False)[1]
                self._slots[digest] = slot
                self._copy(adapter, slot)
        return [-1 if adapter is None else self._slots[adapter.digest] for adapter in adapters]

    def groups(self, adapters: Sequence[SlotAdapter | None]) -> list[list[int]]:
        """Indices in as few groups, in turn, as `place` takes each."""
        groups: list[list[int]] = [[]]
        found: set[str] = set()
        for index, adapter in enumerate(adapters):
            if adapter is not None and adapter.digest not in found:
                if len(found) == self.num_slots:
                    groups.append([])
                    found.clear()
                found.add(adapter.digest)
            groups[-1].append(index)
        return groups

    def read(self, slots: Sequence[int]) -> None:
        """What was launched on the current stream up to now is the last to read these."""
        used = {slot for slot in slots if slot >= 0}
        if used and self.device.type == "cuda":
            done = torch.cuda.current_stream(self.device).record_event()
            self._last_read.update(dict.fromkeys(used, done))

    def renew(self) -> None:
        """Take the slots that the latest adapters asked for; what the old ones held is copied again."""
        latest = self._latest
        if latest is self.generation:
            return
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)  # steps under way read the old slots
        self.generation = latest
        self._slots.clear()
        self._free = list(range(self.num_slots))
        self._last_read.clear()

    def _copy(self, adapter: SlotAdapter, slot: int) -> None:
        layout, target = self.generation.layout, self.generation.storage[slot]
        self.num_copies += 1
        pieces = adapter.pieces
        if adapter.layout is not layout:
            row = torch.zeros(layout.size, dtype=self._dtype)
            adapter.layout.move(torch.cat(adapter.pieces), layout, row)
            pieces = self._pieces(row)
        if self.device.type != "cuda":
            torch.cat(pieces, out=target)
            return
        stream = cuda_stream(self.device, "adapters")
        if slot in self._last_read:
            stream.wait_event(self._last_read[slot])
        with torch.cuda.stream(stream):
            for piece, part in zip(pieces, target.split(_PIECE), strict=True):
                part.copy_(piece, non_blocking=True)
        torch.cuda.current_stream(self.device).wait_event(stream.record_event())
