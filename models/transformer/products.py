"""The products of a fused layer, and what adapters add to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from torch import Tensor
from torch.nn import functional as F

from engine.kernels.activation import silu_mul
from engine.kernels.hopper import linear as hopper
from engine.kernels.hopper import row_linear
from engine.kernels.linear.halved_linear import halved_linear
from engine.kernels.linear.spare_rows import linear
from engine.kernels.linear.split_linear import adds_itself, partial_linear, split_linear
from engine.kernels.linear.tiled_linear import serves, tiled_linear
from engine.kernels.linear.tilings import GATED_TILINGS, LINEAR_TILINGS, Tiling, Tilings
from engine.kernels.low_rank.around import apart, with_low_rank
from engine.kernels.low_rank.delta import Delta
from engine.kernels.low_rank.slots import LowRankRows

Product = Callable[[Tensor, Tensor], Tensor]
AddingProduct = Callable[[Tensor, Tensor, LowRankRows | None], Tensor]
PartingProduct = Callable[[Tensor, Tensor, LowRankRows | None], tuple[Tensor, Delta | None]]
"""The product, and what the kernel behind it is to add, if that is not in it."""


class ProductDeltas(Protocol):
    """What adapters add to the products of a stack.

    products: those of a layer (`QKV` to `DOWN`) that they change.
    """

    products: frozenset[int]

    def of(self, layer: int, product: int) -> LowRankRows | None:
        """What is added to a product of a layer of the stack; None where nothing is."""


class Nothing:
    products: frozenset[int] = frozenset()

    def of(self, layer: int, product: int) -> None:
        return None


NOTHING = Nothing()


class SharedProducts(NamedTuple):
    """Products of x [..., K] and weight [N, K], and what adapters add to them.

    Attributes:
        whole: -> [..., N].
        gated: of weight [2F, K], gates first -> silu(gate) * up, [..., F].
        parts: -> fp32 [parts, rows, N], shared out over K and not added up, and what is to be added besides.
    """

    whole: AddingProduct
    gated: AddingProduct
    parts: PartingProduct


def _whole_part(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x, weight).view(1, -1, weight.shape[0])


def _around(product: Product, beside: bool = True) -> AddingProduct:
    """The product, with kernels around it for what is added; beside: see `with_low_rank`."""

    def run(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> Tensor:
        if low_rank is None:
            return product(x, weight)
        return with_low_rank(lambda: product(x, weight), x, low_rank, beside=beside)

    return run


def _apart(product: Product, beside: bool = True) -> PartingProduct:
    """What is added is left to the kernel behind the product, unless the one before it made a part of that:
    what is left then is short. beside: see `with_low_rank`."""
    around = _around(product, beside)

    def run(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> tuple[Tensor, Delta | None]:
        if low_rank is None or low_rank.hidden is not None:
            return around(x, weight, low_rank), None
        return apart(lambda: product(x, weight), x, low_rank, beside)

    return run


def _gated(whole: PartingProduct) -> AddingProduct:
    """The gate in a kernel behind the whole product."""

    def run(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> Tensor:
        gate_up, delta = whole(x, weight, low_rank)
        return silu_mul(gate_up.flatten(0, -2), delta).view(*x.shape[:-1], len(weight) // 2)

    return run


def _tiling(x: Tensor, weight: Tensor, told: Tilings, gated: bool) -> Tiling | None:
    """The one that is told for these rows, on a device that has it."""
    outputs, size = len(weight) // (1 + gated), weight.shape[1]
    tiling = told.get((outputs, size), {}).get(x.numel() // size)
    return tiling if tiling is not None and serves(x, weight) else None


def _linear(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> Tensor:
    """By kernels that add what adapters do, or by tiles of our own, where they pay; else by the library."""
    if low_rank is None:
        tiling = _tiling(x, weight, LINEAR_TILINGS, gated=False)
        return linear(x, weight) if tiling is None else tiled_linear(x, weight, tiling)
    num_rows = x.numel() // x.shape[-1]
    if hopper.serves(num_rows, weight, low_rank):
        return hopper.linear_with_adapters(x, weight, low_rank)
    if row_linear.serves(num_rows, weight, low_rank):
        return row_linear.row_linear(x, weight, low_rank)
    return _BY_LIBRARY(x, weight, low_rank)


def _gated_linear(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> Tensor:
    """The gate in the product's kernel where that pays and nothing is added before it, else behind it."""
    tiling = _tiling(x, weight, GATED_TILINGS, gated=True) if low_rank is None else None
    if tiling is None:
        return _GATED_BEHIND(x, weight, low_rank)
    return tiled_linear(x, weight, tiling, gated=True)


def _within(product: Callable[..., Tensor], otherwise: AddingProduct, gated: bool = False) -> AddingProduct:
    """One of `split_linear`, which adds it itself where it can. otherwise: what is done where it cannot."""

    def run(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> Tensor:
        if low_rank is None or adds_itself(x, weight, low_rank, gated=gated):
            return product(x, weight, low_rank=low_rank)
        return otherwise(x, weight, low_rank)

    return run


def _split_parts(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> tuple[Tensor, Delta | None]:
    if low_rank is None or adds_itself(x, weight, low_rank, split=True):
        return partial_linear(x, weight, low_rank=low_rank), None
    return _PARTS_APART(x, weight, low_rank)


def _halved_parts(x: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> tuple[Tensor, Delta | None]:
    if low_rank is not None and row_linear.serves(x.numel() // x.shape[-1], weight, low_rank, floats=True):
        return row_linear.row_linear(x, weight, low_rank, floats=True)[None], None
    return _HALVES_APART(x, weight, low_rank)


_HALVES_APART = _apart(halved_linear)
_PARTS_APART = _apart(partial_linear, beside=False)
_BY_LIBRARY, _GATED_BEHIND = _around(linear), _gated(_apart(linear))
LINEAR, GATED = _linear, _gated_linear
SPLIT = SharedProducts(
    _within(split_linear, _around(split_linear, beside=False)),
    _within(partial(split_linear, gated=True), _gated(_apart(split_linear, beside=False)), gated=True),
    _split_parts,
)
HALVED = SharedProducts(LINEAR, GATED, _halved_parts)
PLAIN = SharedProducts(LINEAR, GATED, _apart(_whole_part))
"""Of ranks, whose sums are one kernel with the norm that follows; the part is of the type of x."""
