"""Adapters on a device that runs recorded steps: slots at fixed addresses, filled while streams go on.

    bank = AdapterBank(products, torch.bfloat16, device, num_slots=32)
    adapter = bank.load(adapter)               # any thread: checked, in form, in pinned memory
    bank.fetch(adapter)                        # the engine's thread: a request waits that will need it
    slots = bank.place([adapter, None])        # [3, -1]; copied now if it was not there
    ...                                        # launch what reads them
    bank.read(slots)                           # until then nothing takes their place

An adapter that everybody has goes into the weights themselves, and no slot is named then (`in_weights`).

A copy travels on a stream of its own, once the last step that read the slot is done, and the steps that read
it wait for it on the device. The host waits for nothing. `fetch` takes a slot only from an adapter that no
request needs; `place` takes one from those first. All slots have one layout, with room for the products and
the rank that adapters so far have asked for. One that asks for more makes new slots, which are taken when a
launch needs it first; programs that were recorded for the old ones (`generation`) are recorded anew then.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeGuard

import torch
from torch import Tensor

from engine.device.devices import on_device
from engine.device.side_stream import Moment, SideStream
from engine.errors import RequestError
from engine.kernels.low_rank.slots import Signals, signals
from models.lora.adapter import Adapter
from models.lora.in_weights import InWeights
from models.lora.layout import NO_ROOM, Kind, Products, SlotLayout, SlotShape, shape_of
from models.lora.rows import OwnDecoder

_PIECE = 1 << 20
"""Elements that are pinned and copied at once: a launch would wait for more to be pinned, and other copies to
the device find room in between."""


@dataclass(frozen=True, eq=False)
class SlotAdapter:
    """An adapter as it lies in a slot, on the host; `pieces` are parts of the row, and there are none where
    it changes no product. `decoder` lies in no slot.
    """

    digest: str
    layout: SlotLayout
    pieces: tuple[Tensor, ...]
    decoder: OwnDecoder | None = None

    @property
    def num_bytes(self) -> int:
        own = sum(piece.nbytes for piece in self.pieces)
        return own + (self.decoder.num_bytes if self.decoder is not None else 0)


@dataclass(frozen=True, eq=False)
class Generation:
    """Slots of one layout: storage [slots, layout.size]. signals: see `LowRankSlots`."""

    layout: SlotLayout
    storage: Tensor
    signals: Signals


class AdapterBank:
    """See the module; `load` may be called from any thread, the others from that of the engine.

    weights: of the products, where an adapter may go into them (`InWeights`).
    """

    def __init__(
        self,
        products: Products,
        dtype: torch.dtype,
        device: torch.device,
        num_slots: int,
        weights: Mapping[Kind, Tensor] | None = None,
    ) -> None:
        self.device, self.num_slots = device, num_slots
        self._products, self._dtype = products, dtype
        self._lock = threading.Lock()
        self._latest = self._make(SlotLayout(products, NO_ROOM))
        self.generation = self._latest
        """What programs are recorded for."""
        self.in_weights = InWeights(weights) if weights is not None else None
        self._slots: OrderedDict[str, int] = OrderedDict()
        """Digest -> slot, the latest used last."""
        self._free = list(range(num_slots))
        self._stream = SideStream(device, "adapters")
        self._last_read: dict[int, Moment] = {}
        self._arriving: dict[int, Moment] = {}
        """When a slot will have been filled; of those that the current stream has not waited for."""
        self.needed: Callable[[], AbstractSet[str]] = frozenset
        """Digests of the adapters of all requests that run or wait for their turn."""
        self.num_copies = 0
        self.num_fetched = 0
        """Copies that began before a launch asked for them."""

    def load(self, adapter: Adapter) -> SlotAdapter:
        """An adapter in the form of the slots, which hold finite numbers alone: kernels multiply them with
        zeros for rows of others.

        Raises RequestError where the device has no room for it, AdapterError where it is not finite.
        """
        layers = dict(adapter.scaled(self._dtype))
        wanted = shape_of(self._products, layers)
        layout = self.generation.layout
        if not layout.shape.holds(wanted):
            layout = self.reserve(wanted)
        if not wanted.kinds:
            return SlotAdapter(adapter.digest, layout, ())
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
            return Generation(layout, storage, signals(self.device))
        except torch.OutOfMemoryError as error:
            size = self.num_slots * layout.size * self._dtype.itemsize
            raise RequestError(
                f"{self.num_slots} slots with room for this adapter take {size >> 20} MiB of {self.device}, "
                "which has not so much left; fewer slots (adapter_slots) or a smaller cache (kv_blocks) "
                "make room",
                param="adapter",
                code="adapter_too_large",
            ) from error

    def fetch(self, adapter: SlotAdapter) -> bool:
        """Begin to copy an adapter that a request will need, if a slot is free or one is not `needed`.

        False where it found none: `place` does it then. New slots are left to it, too, since the host waits
        for them.
        """
        if not adapter.pieces or adapter.digest in self._slots:
            return True
        if not self._fits(adapter) or not self._has_room(self.needed()):
            return False
        self._bring(adapter)
        self.num_fetched += 1
        return True

    def place(self, adapters: Sequence[SlotAdapter | None]) -> list[int] | None:
        """The slot of each, -1 for none; None where there are more different ones than slots.

        Those that are not in a slot take the place of the least recently used, of those that are not `needed`
        if there are such. What is launched on the current stream from now on finds them there, or in the
        weights.
        """
        only, nobody, weights = _only(adapters), [-1] * len(adapters), self.in_weights
        if weights is None:
            return self._place(adapters)
        if weights.serve(only):
            return nobody
        slots = self._place(adapters)
        if only is None or slots is None or not weights.is_time_for(only):
            return slots
        if not weights.add(only, self.generation.layout, self.generation.storage[slots[0]]):
            return slots
        self.read(slots)
        return nobody

    def warm_up(self) -> None:
        """Launch what an adapter's way into the weights and out of them launches, of nothing."""
        if self.in_weights is not None:
            self.in_weights.warm_up(self.generation.layout)

    def begin_anew(self) -> None:
        """A request begins that is alone: nothing depends on those before it."""
        if self.in_weights is not None:
            self.in_weights.begin_anew()

    def _place(self, adapters: Sequence[SlotAdapter | None]) -> list[int] | None:
        wanted = {adapter.digest: adapter for adapter in adapters if _lies_in_slots(adapter)}
        if len(wanted) > self.num_slots:
            return None
        if not all(map(self._fits, wanted.values())):
            self.renew()
        for digest in wanted:
            if digest in self._slots:
                self._slots.move_to_end(digest)
        for digest, adapter in wanted.items():
            if digest not in self._slots:
                if not self._has_room(wanted.keys() | self.needed()):
                    self._has_room(wanted.keys())
                self._bring(adapter)
            if arrival := self._arriving.pop(self._slots[digest], None):
                arrival.hold_up()
        return [self._slots[adapter.digest] if _lies_in_slots(adapter) else -1 for adapter in adapters]

    def groups(self, adapters: Sequence[SlotAdapter | None]) -> list[list[int]]:
        """Indices in as few groups, in turn, as `place` takes each."""
        groups: list[list[int]] = [[]]
        found: set[str] = set()
        for index, adapter in enumerate(adapters):
            if _lies_in_slots(adapter) and adapter.digest not in found:
                if len(found) == self.num_slots:
                    groups.append([])
                    found.clear()
                found.add(adapter.digest)
            groups[-1].append(index)
        return groups

    def read(self, slots: Sequence[int]) -> None:
        """What was launched on the current stream up to now is the last to read these."""
        done = self._stream.outside()
        self._last_read.update((slot, done) for slot in slots if slot >= 0)

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
        self._arriving.clear()

    def _fits(self, adapter: SlotAdapter) -> bool:
        """Whether the slots that programs are recorded for have room for its products and its rank."""
        return self.generation.layout.shape.holds(adapter.layout.shape)

    def _has_room(self, kept: AbstractSet[str]) -> bool:
        """Whether a slot is free, after the least recently used that is not `kept` gave way if need be."""
        if not self._free:
            gives_way = next((digest for digest in self._slots if digest not in kept), None)
            if gives_way is not None:
                self._free.append(self._slots.pop(gives_way))
        return bool(self._free)

    def _bring(self, adapter: SlotAdapter) -> None:
        """Into a free slot, which stays free if the copy cannot begin."""
        self._copy(adapter, self._free[-1])
        self._slots[adapter.digest] = self._free.pop()

    def _copy(self, adapter: SlotAdapter, slot: int) -> None:
        layout, target = self.generation.layout, self.generation.storage[slot]
        pieces = adapter.pieces
        if adapter.layout is not layout:
            row = torch.zeros(layout.size, dtype=self._dtype)
            adapter.layout.move(torch.cat(adapter.pieces), layout, row)
            pieces = self._pieces(row)
        with self._stream.on():
            if slot in self._last_read:
                self._last_read[slot].hold_up()
            for piece, part in zip(pieces, target.split(_PIECE), strict=True):
                part.copy_(piece, non_blocking=True)
        self._arriving[slot] = self._stream.moment()
        self.num_copies += 1


def _only(adapters: Sequence[SlotAdapter | None]) -> str | None:
    """The digest of the adapter that all have; None where some have another or none."""
    digests = {adapter.digest if _lies_in_slots(adapter) else None for adapter in adapters}
    return digests.pop() if len(digests) == 1 else None


def _lies_in_slots(adapter: SlotAdapter | None) -> TypeGuard[SlotAdapter]:
    return adapter is not None and bool(adapter.pieces)
