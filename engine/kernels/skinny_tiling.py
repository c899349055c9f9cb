"""How the work of `skinny_linear` is cut up: measured choices for known shapes, a rule for others."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BLOCK_ROWS = 64
_HELD_REGISTERS = 96
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
    """Few outputs per program, for many programs; a slice of K per warp and step that registers can hold."""
    warps = 8
    while warps > 1 and warps * 32 > size:
        warps //= 2
    per_warp = _SLICE if block <= 32 else _SLICE // 2
    while per_warp > 32 and warps * per_warp // 2 >= size:
        per_warp //= 2
    step = warps * per_warp
    registers = 16 * per_warp // 64 * (2 if gated else 1)
    return Tiling(16, step, warps, max(1, min(-(-size // step), _HELD_REGISTERS // registers)))
