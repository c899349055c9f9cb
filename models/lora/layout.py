"""How an adapter lies in a slot of the device: one row of elements, the same for all, padded to one rank.

A product (queries, keys and values together, say) has a place for it, with all parts at the same rank, so
that a kernel finds everything at offsets that never change:

    layout = SlotLayout(products, SlotShape(32, frozenset({("base_lm", 0), ("base_lm", 1)})))
    layout.pack(dict(adapter.scaled()), row)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from engine.layers.low_rank import LowRank, LowRankPlace
from models.transformer.adapted import Size
from models.transformer.stack import PRODUCTS

RANKS = (16, 32, 64, 128)
"""The least is what tensor cores multiply."""
_ALIGNMENT = 64  # elements

Kind = tuple[str, int]
"""A module, and one of the products that each of its layers has; a linear layer has one."""
Products = Mapping[str, Sequence[Mapping[str, Size]]]
"""Module -> its products in turn, layer by layer: released name -> size of each part."""


class SlotShape(NamedTuple):
    """What a slot has room for: matrices of up to `rank`, of all products of some kinds."""

    rank: int
    kinds: frozenset[Kind]

    def holds(self, other: SlotShape) -> bool:
        return self.rank >= other.rank and self.kinds >= other.kinds

    def with_room_for(self, other: SlotShape) -> SlotShape:
        return SlotShape(max(self.rank, other.rank), self.kinds | other.kinds)


NO_ROOM = SlotShape(RANKS[0], frozenset())


def rank_with_room(rank: int) -> int:
    """The least of `RANKS` that is no smaller."""
    return next(room for room in RANKS if room >= rank)


def shape_of(products: Products, layers: Mapping[str, LowRank]) -> SlotShape:
    """The least that has room for those of these that are parts of a product."""
    largest, kinds = 0, set()
    for module, numbered in products.items():
        for number, parts in enumerate(numbered):
            if mine := layers.keys() & parts:
                kinds.add((module, number % PRODUCTS))
                largest = max(largest, *(len(layers[name].down) for name in mine))
    return SlotShape(rank_with_room(largest), frozenset(kinds))


class SlotLayout:
    """See the module.

    Attributes:
        places: (module, number of the product in it) -> where its matrices are.
        size: elements of a slot.
    """

    def __init__(self, products: Products, shape: SlotShape) -> None:
        self.shape, self.size = shape, 0
        self.places: dict[Kind, LowRankPlace] = {}
        self._parts: dict[Kind, Mapping[str, Size]] = {}
        for module, numbered in products.items():
            for number, parts in enumerate(numbered):
                if (module, number % PRODUCTS) in shape.kinds:
                    self._add((module, number), parts)

    def _add(self, key: Kind, parts: Mapping[str, Size]) -> None:
        outputs, width = tuple(size[0] for size in parts.values()), next(iter(parts.values()))[1]
        if len(set(outputs[1:])) > 1:
            raise ValueError(f"parts of {sorted(parts)} have {outputs} outputs")
        down = self.size
        up = down + _padded(len(parts) * self.shape.rank * width)
        self.size = up + _padded(sum(outputs) * self.shape.rank)
        self.places[key], self._parts[key] = LowRankPlace(down, up, width, outputs), parts

    def views(self, row: Tensor, key: Kind) -> tuple[Tensor, Tensor]:
        """Of one product in row [size]: down [parts, rank, in], up [sum of out, rank]."""
        place, rank = self.places[key], self.shape.rank
        parts, total = len(place.outputs), sum(place.outputs)
        down = row[place.down : place.down + parts * rank * place.size].view(parts, rank, place.size)
        return down, row[place.up : place.up + total * rank].view(total, rank)

    def pack(self, layers: Mapping[str, LowRank], row: Tensor) -> None:
        """Lay layers, whose `up` have the scale, into row [size], which holds zeros."""
        for key, parts in self._parts.items():
            down, up = self.views(row, key)
            before = 0
            for number, (name, (height, _)) in enumerate(parts.items()):
                if name in layers:
                    piece = layers[name]
                    down[number, : len(piece.down)].copy_(piece.down)
                    up[before : before + height, : len(piece.down)].copy_(piece.up)
                before += height

    def move(self, row: Tensor, to: SlotLayout, target: Tensor) -> None:
        """What lies in `row` by this layout into `target` [to.size], which holds zeros, by a larger one."""
        rank = self.shape.rank
        for key in self.places:
            (down, up), (new_down, new_up) = self.views(row, key), to.views(target, key)
            new_down[:, :rank].copy_(down)
            new_up[:, :rank].copy_(up)


def _padded(elements: int) -> int:
    return -(-elements // _ALIGNMENT) * _ALIGNMENT
