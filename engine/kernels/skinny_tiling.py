"""How the work of `skinny_linear` is cut up: measured choices for known shapes, a rule for others."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BLOCK_ROWS = 64
_REGISTERS = 160
_SLICE = 128


@dataclass(frozen=True)
class Tiling:
    """One way to run a product.

    `outputs` outputs per program (16 or 32); K in steps of `step`, of which each of `warps` warps takes its
    share, a multiple of 32; weights of `early` steps are loaded before activations are awaited. All but
    `early` are powers of two.
    """

    outputs: int
    step: int
    warps: int
    early: int


MEASURED: dict[tuple[int, int, int, bool], Tiling] = {}
"""By (padded rows, N, K, gated)."""


def padded_rows(num_rows: int) -> int:
    """Rows of a program's tile: 8, 16, 32 or 64."""
    block = 8
    while block < num_rows and block < MAX_BLOCK_ROWS:
        block *= 2
    return block


def tiling_for(num_rows: int, num_outputs: int, size: int, gated: bool) -> Tiling:
    """The tiling for x [num_rows, size] and `num_outputs` outputs (pairs of gate and up where `gated`)."""
    block = padded_rows(num_rows)
    return MEASURED.get((block, num_outputs, size, gated)) or _rule(block, size, gated)


def _rule(block: int, size: int, gated: bool) -> Tiling:
    """Few outputs per program, for many programs; of the weights, what registers hold comes early."""
    outputs, factor, warps = 16, 1 + gated, 8
    while warps > 1 and warps * 32 > size:
        warps //= 2
    per_warp = _SLICE
    while per_warp > 32 and (
        warps * per_warp // 2 >= size
        or registers(block, size, gated, Tiling(outputs, warps * per_warp, warps, 1)) > _REGISTERS
    ):
        per_warp //= 2
    step = warps * per_warp
    room = _REGISTERS - registers(block, size, gated, Tiling(outputs, step, warps, 0))
    early = max(1, room // (outputs * factor * per_warp // 64))
    return Tiling(outputs, step, warps, min(early, -(-size // step)))


def registers(block: int, size: int, gated: bool, tiling: Tiling) -> int:
    """Registers per thread that weights loaded early, activations under way and sums take."""
    per_warp, factor = tiling.step // tiling.warps, 1 + gated
    weights = tiling.outputs * factor * per_warp // 64 * tiling.early
    inputs = block * per_warp // 64 * min(2, -(-size // tiling.step))
    return weights + inputs + tiling.outputs * factor * block // 32
