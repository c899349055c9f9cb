"""Products of few rows, each an entry of its own, that add what adapters do: y = x W^T + up (down x).

So are the language models' products when they go on from a patch. One kernel, in CUDA C++ (`row_linear.cu`):
32 outputs are a tile, a processor each, and the others make `down x` meanwhile. Rows without an adapter keep
every bit that this kernel gives them where nobody has one; the matrix library sums up in another order.

    if serves(num_rows, weight, rows):
        y = row_linear(x, weight, rows)
        parts = row_linear(x, weight, rows, floats=True)[None]      # for `add_and_norm`
"""

from __future__ import annotations

import ctypes
from dataclasses import asdict, dataclass
from functools import cache

import torch
from torch import Tensor

from engine.device.devices import on_device
from engine.kernels.hopper import sources
from engine.kernels.hopper.program import Program, with_constants
from engine.kernels.hopper.sources import BOX, RANK
from engine.kernels.hopper.tensor_map import TensorMap
from engine.kernels.low_rank.slots import HIDDEN, LowRankRows
from engine.layers.low_rank import LowRankPlace

ROWS = range(49, 65)
"""For which it serves. For fewer the language models' products of a step are others (`halved_linear`)."""
MAX_SLOTS = 32
"""A tile has `up` of all of them."""
_TILE_ROWS, _TILE, _MIN_SIDE = 64, 32, 32
"""Rows and outputs of a tile, and how many processors the tiles leave at least."""
_STAGES, _STEP = 6, 2 * BOX
_WARPS, _PLACES = 8, 4
"""Of a program beside the tiles, and how many of its items are added up behind it."""
_ITEM = _WARPS * BOX
_THREADS, _MAX_REGISTERS = 416, 128
"""Of a program and of a thread. Four of its 13 warps share a quarter of a processor, with 16384 registers."""
_BF16, _FLOAT = 2, 4


@dataclass(frozen=True)
class RowShape:
    """What a kernel is compiled for, in the names of `row_linear.cu`.

    PARTS, FIRST, OTHER: parts of `down`, and the outputs of the first and of each other one.
    FLOATS: whether y is fp32 instead of bf16.
    STAGES, SIDE_STAGES: of the rings of tiles and of programs beside them.
    """

    K: int
    N: int
    PARTS: int
    FIRST: int
    OTHER: int
    FLOATS: int
    SIDE_STAGES: int
    STAGES: int = _STAGES
    HIDDEN: int = HIDDEN

    @property
    def shared_bytes(self) -> int:
        """Of a tile's program and of one beside the tiles, whichever needs more."""
        stages = self.STAGES * _STEP * (_TILE_ROWS + _TILE) * _BF16
        up, sums = MAX_SLOTS * _TILE * RANK * _BF16, _TILE_ROWS * _TILE * _FLOAT
        hidden = _TILE_ROWS * (RANK + 8) * _BF16
        ranks = self.PARTS * RANK
        side = self.SIDE_STAGES * ranks * BOX * _BF16 + _PLACES * _WARPS * ranks * _FLOAT
        return max(stages + up + sums + hidden, side)

    @property
    def tiles(self) -> int:
        return self.N // _TILE


def shape_of(weight: Tensor, place: LowRankPlace, floats: bool) -> RowShape | None:
    """None where the kernel has none for such a product."""
    (num_outputs, size), parts = weight.shape, len(place.outputs)
    if (num_outputs, size) != (sum(place.outputs), place.size) or parts not in (1, 3):
        return None
    first, other = place.outputs[0], (place.outputs[1:] or place.outputs)[0]
    if first % _TILE or other % _TILE or size % _ITEM or size < _STAGES * _STEP:
        return None
    if _TILE_ROWS * size // _ITEM * parts * RANK > HIDDEN:
        return None
    return RowShape(size, num_outputs, parts, first, other, int(floats), 32 if parts == 1 else 16)


def serves(num_rows: int, weight: Tensor, rows: LowRankRows, floats: bool = False) -> bool:
    """Whether the kernel serves so many rows of x, and should."""
    if not sources.could_serve(weight, rows):
        return False
    shape = shape_of(weight, rows.slots.place, floats)
    if shape is None or not _serves_rows(num_rows, rows, shape, sources.processors(weight.device)):
        return False
    return _program(shape, weight.device) is not None


def _serves_rows(num_rows: int, rows: LowRankRows, shape: RowShape, processors: int) -> bool:
    single = num_rows == rows.num_entries and rows.branches == 1
    few = num_rows in ROWS and len(rows.slots.storage) <= MAX_SLOTS
    return single and few and shape.tiles + _MIN_SIDE <= processors


@cache
def _program(shape: RowShape, device: torch.device) -> Program | None:
    return sources.program_of(
        source_of(shape), "row_linear_with_adapters", device, _THREADS, shape.shared_bytes, _MAX_REGISTERS
    )


def source_of(shape: RowShape) -> str:
    """The kernel for a shape, in one piece."""
    products = (
        sources.product("product_of_tile", _TILE),
        sources.product("product_of_slot", _TILE, in_registers=True),
    )
    parts = "\n".join((*products, sources.read("row_items.cuh", "row_tiles.cuh")))
    kernel = sources.read("instructions.cuh", "programs.cuh", "row_linear.cu").replace("@PARTS@", parts)
    return with_constants(kernel, {**asdict(shape), "SHARED_BYTES": shape.shared_bytes})


class _Arguments(ctypes.Structure):
    _fields_ = (
        ("turns", ctypes.c_void_p),
        ("num_rows", ctypes.c_int),
        ("num_side", ctypes.c_int),
        ("signals", ctypes.c_void_p),
        ("hidden", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
    )


def row_linear(x: Tensor, weight: Tensor, rows: LowRankRows, floats: bool = False) -> Tensor:
    """x [..., K], contiguous, and weight [N, K] -> [rows, N]: x W^T and what is added, where it `serves`.

    floats: fp32, which has not been rounded, instead of bf16. Raises ValueError for other rows and shapes.
    """
    num_rows, (num_outputs, size) = rows.num_entries, weight.shape
    shape = shape_of(weight, rows.slots.place, floats)
    if shape is None:
        raise ValueError(f"no kernel for a weight {tuple(weight.shape)} with {rows.slots.place}")
    x = x.flatten(0, -2)
    sources.check_rows(x, (num_rows, size))
    program, signals = _program(shape, weight.device), rows.slots.signals
    y = x.new_empty(num_rows, num_outputs, dtype=torch.float32 if floats else x.dtype)
    with on_device(weight.device):
        maps = _maps(x, weight, rows, shape)
    side = sources.processors(weight.device) - shape.tiles
    arguments = _Arguments(
        rows.turns.data_ptr(), num_rows, side, signals.launches.data_ptr(), signals.hidden.data_ptr(),
        x.data_ptr(), y.data_ptr(),
    )  # fmt: skip
    addresses = [*(each.address for each in maps), ctypes.addressof(arguments)]
    program.launch(side + shape.tiles, addresses, weight.device)
    return y


def _maps(x: Tensor, weight: Tensor, rows: LowRankRows, shape: RowShape) -> list[TensorMap]:
    """In the order of the kernel's parameters."""
    k, n, slots, ranks = shape.K, shape.N, rows.slots, shape.PARTS * RANK
    num_slots, stride, place = len(slots.storage), slots.storage.stride(0), slots.place
    return [
        TensorMap(x, (k, len(x)), (k,), (BOX, _TILE_ROWS)),
        TensorMap(weight, (k, n), (k,), (BOX, _TILE)),
        TensorMap(slots.storage, (k, ranks, num_slots), (k, stride), (BOX, ranks, 1), place.down),
        TensorMap(slots.storage, (RANK, n, num_slots), (RANK, stride), (RANK, _TILE, 1), place.up, 64),
    ]
