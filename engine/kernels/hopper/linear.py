"""Products of many rows that add what adapters make of some of them, in one kernel of CUDA C++.

With 64 streams the DiT's products have fewer tiles than the device has processors. The others compute
`down x` of the rows of an entry meanwhile, a whole entry each, and tiles multiply `up` with it at their end,
as if K were longer by the rank. So no kernel is launched for adapters, and none waits for another. Rows
without an adapter keep every bit that the matrix library gives them, where it sums up in the same order.

    if serves(num_rows, weight, rows):
        y = linear_with_adapters(x, weight, rows)
        add_linear_with_adapters_(y, x, weight, rows, alpha)      # y += alpha (x W^T + up (down x))
"""

from __future__ import annotations

import ctypes
from dataclasses import asdict, dataclass
from functools import cache

import torch
import triton
from torch import Tensor

from engine.device.devices import on_device
from engine.kernels.hopper import sources
from engine.kernels.hopper.program import Program, with_constants
from engine.kernels.hopper.sources import BOX, RANK
from engine.kernels.hopper.tensor_map import TensorMap
from engine.kernels.low_rank.slots import LowRankRows
from engine.layers.low_rank import LowRankPlace

BRANCHES, REPEATS = 2, range(5, 17)
"""Of entries that the kernel serves. A tile has rows of up to 32 of them, and an entry has up to 32 rows."""
TILE_ROWS = 64
"""In either branch."""
MIN_SHARE, MIN_SIDE = 2 / 3, 16
"""Tiles occupy at least this share of the processors, or the library's are faster, and leave so many free."""
_LINES = 32
"""Of an entry in `hidden`."""
_SIGNALS_BEFORE = 1
"""See `signals` in linear.cu; every entry may have a turn, with a signal of its own."""
_SIDE_STAGES = 6
_THREADS, _MAX_REGISTERS = 288, 168
_BF16 = 2
_NARROW_OUTPUTS = 1024
"""Products of so many outputs have tiles of 104 outputs, the others of 256."""


@dataclass(frozen=True)
class LinearShape:
    """What a kernel is compiled for, in the names of `linear.cu`.

    STAGES: of the ring. EARLY: in how many of them weights come before the kernel before has ended.
    PARTS, FIRST, OTHER: parts of `down`, and the outputs of the first and of each other one.
    RESIDUAL: whether y is added to.
    """

    K: int
    N: int
    TILE_N: int
    STAGES: int
    EARLY: int
    PARTS: int
    FIRST: int
    OTHER: int
    RESIDUAL: int

    @property
    def shared_bytes(self) -> int:
        """Of a tile's program and of one beside the tiles, whichever needs more."""
        tile = self.STAGES * (BRANCHES * TILE_ROWS + self.TILE_N) * BOX * _BF16
        residual = self.RESIDUAL * BRANCHES * TILE_ROWS * self.TILE_N * _BF16
        chunk = (self.PARTS * RANK + _LINES) * BOX * _BF16
        side = _SIDE_STAGES * self.chunks * chunk + _LINES * BOX * _BF16
        return max(tile + residual, side)

    @property
    def chunks(self) -> int:
        """Of 64 elements of K, in a stage of a program beside the tiles."""
        return 4 if self.PARTS == 1 else 2

    def tiles(self, num_rows: int) -> int:
        return triton.cdiv(num_rows // BRANCHES, TILE_ROWS) * triton.cdiv(self.N, self.TILE_N)


def shape_of(weight: Tensor, place: LowRankPlace, residual: bool) -> LinearShape | None:
    """None where the kernel has none for such a product."""
    (num_outputs, size), parts = weight.shape, len(place.outputs)
    if (num_outputs, size) != (sum(place.outputs), place.size):
        return None
    first, other = place.outputs[0], (place.outputs[1:] or place.outputs)[0]
    narrow = parts == 1 and num_outputs <= _NARROW_OUTPUTS
    tile, stages, early = (104, 6, 2) if narrow else (256, 4, 1)
    shape = LinearShape(size, num_outputs, tile, stages, early, parts, first, other, int(residual))
    whole_parts = parts == 1 or first % tile == other % tile == 0
    fits = whole_parts and num_outputs % 8 == 0 and size % (BOX * shape.chunks) == 0 and size >= stages * BOX
    return shape if fits and parts in (1, 3) and (narrow or not residual) else None


def serves(num_rows: int, weight: Tensor, rows: LowRankRows, residual: bool = False) -> bool:
    """Whether the kernel serves so many rows of x, and should.

    residual: for `add_linear_with_adapters_`.
    """
    if not sources.could_serve(weight, rows):
        return False
    shape = shape_of(weight, rows.slots.place, residual)
    if shape is None or not _serves_rows(num_rows, rows, shape, sources.processors(weight.device)):
        return False
    return _program(shape, weight.device) is not None


def _serves_rows(num_rows: int, rows: LowRankRows, shape: LinearShape, processors: int) -> bool:
    if (
        rows.branches != BRANCHES
        or num_rows % (BRANCHES * rows.num_entries)
        or rows.repeat(num_rows) not in REPEATS
    ):
        return False
    if _SIGNALS_BEFORE + rows.num_entries > len(rows.slots.signals.turns):
        return False
    return MIN_SHARE * processors <= shape.tiles(num_rows) <= processors - MIN_SIDE


@cache
def _program(shape: LinearShape, device: torch.device) -> Program | None:
    return sources.program_of(
        source_of(shape), "linear_with_adapters", device, _THREADS, shape.shared_bytes, _MAX_REGISTERS
    )


def source_of(shape: LinearShape) -> str:
    """The kernel for a shape, in one piece."""
    products = (
        sources.product("product_of_tile", shape.TILE_N),
        sources.product("product_of_slot", shape.TILE_N, in_registers=True),
        sources.product("product_of_entry", shape.PARTS * RANK),
    )
    parts = "\n".join((*products, sources.read("tiles.cuh", "entries.cuh")))
    kernel = sources.read("instructions.cuh", "programs.cuh", "linear.cu").replace("@PARTS@", parts)
    constants = {**asdict(shape), "SIDE_STAGES": _SIDE_STAGES, "SHARED_BYTES": shape.shared_bytes}
    return with_constants(kernel, constants)


class _Arguments(ctypes.Structure):
    _fields_ = (
        ("turns", ctypes.c_void_p),
        ("num_entries", ctypes.c_int),
        ("branch_rows", ctypes.c_int),
        ("repeat", ctypes.c_int),
        ("num_side", ctypes.c_int),
        ("alpha", ctypes.c_float),
        ("hidden", ctypes.c_void_p),
        ("signals", ctypes.c_void_p),
    )


def linear_with_adapters(x: Tensor, weight: Tensor, rows: LowRankRows) -> Tensor:
    """x [..., K], contiguous, and weight [N, K] -> [..., N]: x W^T and what is added, where it `serves`."""
    num_rows = x.numel() // x.shape[-1]
    y = x.new_empty(num_rows, len(weight))
    _launch(x.view(num_rows, -1), weight, y, rows, 1.0, residual=False)
    return y.view(*x.shape[:-1], len(weight))


def add_linear_with_adapters_(y: Tensor, x: Tensor, weight: Tensor, rows: LowRankRows, alpha: float) -> None:
    """y += alpha (x W^T and what is added), in place, of contiguous y [rows, N] and x [rows, K], where it
    `serves`. Raises ValueError for others."""
    _launch(x, weight, y, rows, alpha, residual=True)


def _launch(x: Tensor, weight: Tensor, y: Tensor, rows: LowRankRows, alpha: float, residual: bool) -> None:
    sources.check_rows(x, (len(y), weight.shape[1]))
    sources.check_rows(y, (len(x), len(weight)))
    shape = shape_of(weight, rows.slots.place, residual)
    program = _program(shape, weight.device)
    num_rows, entries, tiles = len(x), rows.num_entries, shape.tiles(len(x))
    side = min(sources.processors(weight.device) - tiles, entries)
    hidden = x.new_empty(entries, shape.PARTS, _LINES, RANK)
    with on_device(weight.device):
        maps = _maps(x, weight, y, rows, shape)
    arguments = _Arguments(
        rows.turns.data_ptr(), entries, num_rows // BRANCHES, rows.repeat(num_rows), side, alpha,
        hidden.data_ptr(), rows.slots.signals.turns.data_ptr(),
    )  # fmt: skip
    addresses = [*(each.address for each in maps), ctypes.addressof(arguments)]
    program.launch(side + tiles, addresses, weight.device)


def _maps(x: Tensor, weight: Tensor, y: Tensor, rows: LowRankRows, shape: LinearShape) -> list[TensorMap]:
    """In the order of the kernel's parameters."""
    k, n, num_rows, slots = shape.K, shape.N, len(x), rows.slots
    num_slots, stride, ranks = len(slots.storage), slots.storage.stride(0), shape.PARTS * RANK
    place, branch = slots.place, num_rows // BRANCHES
    columns, swizzled = (shape.TILE_N, 0) if shape.TILE_N % BOX else (BOX, 128)
    return [
        TensorMap(x, (k, branch, BRANCHES), (k, branch * k), (BOX, TILE_ROWS, BRANCHES)),
        TensorMap(weight, (k, n), (k,), (BOX, shape.TILE_N)),
        TensorMap(y, (n, branch, BRANCHES), (n, branch * n), (columns, TILE_ROWS, 1), swizzled=swizzled),
        TensorMap(x, (k, branch, BRANCHES), (k, branch * k), (BOX, rows.repeat(num_rows), BRANCHES)),
        TensorMap(slots.storage, (k, ranks, num_slots), (k, stride), (BOX, ranks, 1), place.down),
        TensorMap(slots.storage, (RANK, n, num_slots), (RANK, stride), (RANK, shape.TILE_N, 1), place.up, 64),
    ]
