"""How the work of `split_linear` is cut up: measured choices for known shapes, a rule for others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

MAX_ROWS = 64
PROGRAMS = 132
"""Programs that run side by side on the devices this is made for, one to a multiprocessor."""
REGISTERS = 226


@dataclass(frozen=True)
class SplitTiling:
    """One way to run a product.

    `outputs` outputs per program (16, 32 or 64); K is shared out over `splits` programs, whose sums are added
    afterwards; a program takes its part in steps of `step`, of which each of `warps` warps has its share, a
    multiple of 32. Of the weights `early` steps are under way at a time, the first before activations are
    awaited; of the activations `ahead` steps. All but the last two are powers of two.
    """

    outputs: int
    splits: int
    step: int
    warps: int
    early: int
    ahead: int


MEASURED: dict[tuple[int, int, int, bool, bool], SplitTiling] = {}
"""By (sum of row tiles, N, K, gated, split)."""


def row_tiles(num_rows: int) -> tuple[int, int]:
    """Rows of a program's two tiles, powers of two from 8 and the second possibly 0: 22 rows are 16 + 8."""
    for first, second in ((8, 0), (16, 0), (16, 8), (32, 0), (32, 8), (32, 16), (64, 0)):
        if num_rows <= first + second:
            return first, second
    raise ValueError(f"{num_rows} rows are more than {MAX_ROWS}")


def split_tiling(num_rows: int, num_outputs: int, size: int, gated: bool, split: bool) -> SplitTiling:
    """The tiling for x [num_rows, size] and `num_outputs` outputs (pairs of gate and up where `gated`).

    split: whether K may be shared out over programs.
    """
    rows = sum(row_tiles(num_rows))
    known = MEASURED.get((rows, num_outputs, size, gated, split))
    return known or _rule(rows, num_outputs, size, gated, split)


def _rule(rows: int, num_outputs: int, size: int, gated: bool, split: bool) -> SplitTiling:
    """A program to each multiprocessor, with as much under way as registers hold, foremost of the weights.

    Each program reads all rows of its part of K; with many rows, twice the outputs halve that.
    """
    outputs = 16 if rows <= 8 else 32
    blocks, splits = -(-num_outputs // outputs), 1
    while split and blocks * splits * 2 <= PROGRAMS and size >= splits * 256:
        splits *= 2
    part, warps = -(-size // splits), 8
    while warps > 1 and warps * 32 > part:
        warps //= 2
    tilings = list(_ways(outputs, splits, part, warps))
    fitting = [t for t in tilings if registers(rows, size, gated, t) <= REGISTERS]
    factor = 2 * outputs * (1 + gated)
    return max(
        fitting or [dataclasses.replace(tilings[-1], outputs=16)],
        key=lambda t: (t.step * (factor * t.early + rows * t.ahead), t.step),
    )


def _ways(outputs: int, splits: int, part: int, warps: int) -> Iterator[SplitTiling]:
    """Ways to go through a part of K; the last takes the fewest registers."""
    for per_warp in (256, 128, 64, 32):
        step = warps * per_warp
        steps = -(-part // step)
        if per_warp == 32 or step < 2 * part:
            for early in sorted({steps, -(-steps // 2), -(-steps // 4), 1}, reverse=True):
                for ahead in sorted({steps, 1}, reverse=True):
                    yield SplitTiling(outputs, splits, step, warps, early, ahead)


def registers(rows: int, size: int, gated: bool, tiling: SplitTiling) -> int:
    """Registers per thread that weights and activations under way and sums take."""
    per_warp, factor = tiling.step // tiling.warps, 1 + gated
    steps = -(-size // (tiling.splits * tiling.step))
    weights = tiling.outputs * factor * per_warp // 64 * min(tiling.early + 1, steps)
    inputs = rows * per_warp // 64 * min(tiling.ahead + 1, steps)
    return weights + inputs + tiling.outputs * factor * rows // 32
