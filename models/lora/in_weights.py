"""The adapter that everybody has, in the weights themselves.

Where every stream of every launch has the same adapter, steps are those without any, and take no longer. As
soon as a stream comes that has another one or none, weights are again what they were, in every bit, and what
adapters add is added beside the products as before. dLoRA (Wu et al., OSDI 2024) goes to and fro like this.

    in_weights = InWeights(weights)
    if not in_weights.serve(digest):                     # before each launch; None: not all have the same
        ...                                              # the adapters in slots, `row` among them
        if in_weights.is_time_for(digest):
            in_weights.add(digest, layout, row)          # from this launch on
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from torch import Tensor

from engine.device.devices import free_bytes
from engine.kernels.low_rank.into_weights import WeightPart, WeightParts, add_into_weights, restore_weights
from models.lora.layout import Kind, SlotLayout

logger = logging.getLogger(__name__)

LAUNCHES_BEFORE = 16
"""So many launches in a row have one adapter for all their streams before it goes into the weights. With
VoxCPM2 a step takes 0.5 to 2.8 ms longer with an adapter beside the weights; the way in and out takes 1.2."""

LAUNCHES_BETWEEN_TRIES = 1000
"""So many more launches in a row have it before the device is asked again, where it had no room: whoever took
that may have gone, such as a worker that this one follows."""

SPARE_BYTES = 1 << 30
"""Memory of the device that stays free beside the copy of the weights, which restoring needs."""


class InWeights:
    """Puts an adapter into the weights, and takes it out. To be used in the engine's thread, on the stream of
    its steps.

    Args:
        weights: of every product [sum of outputs, inputs], contiguous, as steps read them.
    """

    def __init__(self, weights: Mapping[Kind, Tensor]) -> None:
        self._weights = weights
        self._bases: dict[Kind, Tensor] = {}
        self._parts: tuple[SlotLayout, WeightParts] | None = None
        self._had_room = True
        self._launches: tuple[str | None, int] = (None, 0)
        """The adapter that all streams of the last launches had, and how many launches these were;
        below 0 where it found no room."""
        self.digest: str | None = None
        """Digest of the adapter in the weights."""
        self.num_added = 0

    def serve(self, digest: str | None) -> bool:
        """Whether the weights are right for a launch whose streams all have this adapter; None where they
        differ, or have none. If not, they are restored."""
        if digest is not None and digest == self.digest:
            return True
        self._restore()
        before, count = self._launches
        self._launches = (digest, count + 1 if digest == before else 1)
        return False

    def is_time_for(self, digest: str | None) -> bool:
        """Whether enough launches in a row had this adapter alone."""
        return digest is not None and self._launches[1] > LAUNCHES_BEFORE

    def warm_up(self, layout: SlotLayout) -> None:
        """Launch the kernels for weights of this rank once, of nothing, so that no step waits for them."""
        like, rank = next(iter(self._weights.values())), layout.shape.rank
        nothing = like.new_zeros(2 * rank, rank)
        parts = WeightParts([WeightPart(nothing[:rank], nothing[rank:], 0, 0)], rank)
        add_into_weights(parts, nothing.view(-1))
        restore_weights(parts)

    def begin_anew(self) -> None:
        """As if nothing had been launched yet: who is alone speaks the same each time."""
        self._restore()
        self._launches = (None, 0)

    def add(self, digest: str, layout: SlotLayout, row: Tensor) -> bool:
        """Put the adapter in `row` into the weights. False: the device has no room to keep what they were."""
        if self._parts is None or self._parts[0] is not layout:
            if not self._keep_bases([key for key in layout.places if key not in self._bases]):
                self._launches = (digest, -LAUNCHES_BETWEEN_TRIES)
                return False
            parts = [part for key in layout.places for part in self._product(layout, key)]
            self._parts = layout, WeightParts(parts, layout.shape.rank)
        add_into_weights(self._parts[1], row)
        self.digest = digest
        self.num_added += 1
        return True

    def _restore(self) -> None:
        if self.digest is not None and self._parts is not None:
            restore_weights(self._parts[1])
            self.digest = None

    def _keep_bases(self, keys: list[Kind]) -> bool:
        """Copies of these weights, in one piece; False where they do not fit."""
        if not keys:
            return True
        weights = [self._weights[key] for key in keys]
        size, like = sum(weight.nbytes for weight in weights), weights[0]
        if (free := free_bytes(like.device)) is not None and free < size + SPARE_BYTES:
            if self._had_room:
                logger.info("adapters stay beside the weights: keeping these takes %d MiB", size >> 20)
            self._had_room = False
            return False
        self._had_room = True
        kept = like.new_empty(size // like.itemsize).split([weight.numel() for weight in weights])
        for key, weight, base in zip(keys, weights, kept, strict=True):
            self._bases[key] = base.view_as(weight).copy_(weight)
        return True

    def _product(self, layout: SlotLayout, key: Kind) -> list[WeightPart]:
        """The parts of a product, each with a `down` of its own."""
        place, rank, begin, found = layout.places[key], layout.shape.rank, 0, []
        for number, outputs in enumerate(place.outputs):
            rows = slice(begin, begin + outputs)
            matrices = place.down + number * rank * place.size, place.up + begin * rank
            found.append(WeightPart(self._weights[key][rows], self._bases[key][rows], *matrices))
            begin += outputs
        return found
