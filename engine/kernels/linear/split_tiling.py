"""How the work of `split_linear` is cut up: measured choices for known shapes, a rule for others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

MAX_ROWS = 64
"""The most rows the tiles hold."""
PROGRAMS = 132
"""Programs that run side by side on the devices this is made for, one to a multiprocessor."""
REGISTERS = 226
"""Per thread, for weights, activations and sums; some are needed besides."""
WEIGHTS = 128
"""Registers per thread for weights under way."""
FEW_ROWS = 32
"""Up to so many rows products are faster than the matrix library's, as far as is known."""
FEWER_ROWS = {(6144, 4096): 24}
"""`FEW_ROWS` by (N, K) of first layers that are slower here with more rows than that: on an H200 a step of
Qwen3-8B took 5.72 ms with 32 streams, but 5.68 by the matrix library with 64."""


@dataclass(frozen=True)
class SplitTiling:
    """One way to run a product.

    `outputs` outputs per program (16, 32 or 64); K is shared out over `splits` programs, whose sums are added
    afterwards; a program takes its part in steps of `step`, of which each of `warps` warps has its share, a
    multiple of 32. Of the weights `early` steps are under way at a time, the first before activations are
    awaited; of the activations `ahead` steps. Outputs, step and warps are powers of two.
    """

    outputs: int
    splits: int
    step: int
    warps: int
    early: int
    ahead: int


MEASURED: dict[tuple[int, int, int, bool, bool], SplitTiling] = {
    (8, 2560, 2048, False, False): SplitTiling(32, 1, 1024, 8, 2, 1),
    (8, 2048, 2048, False, True): SplitTiling(32, 2, 1024, 4, 1, 1),
    (8, 6144, 2048, True, False): SplitTiling(16, 1, 128, 4, 8, 1),
    (8, 2048, 6144, False, True): SplitTiling(16, 1, 256, 8, 12, 1),
    (8, 2560, 1024, False, False): SplitTiling(32, 1, 1024, 4, 1, 1),
    (8, 1024, 2048, False, True): SplitTiling(16, 2, 512, 4, 2, 1),
    (8, 4096, 1024, True, False): SplitTiling(16, 1, 512, 4, 2, 2),
    (8, 1024, 4096, False, True): SplitTiling(32, 4, 1024, 4, 1, 1),
    (16, 2560, 2048, False, False): SplitTiling(16, 1, 512, 4, 4, 1),
    (16, 2048, 2048, False, True): SplitTiling(32, 2, 1024, 4, 1, 1),
    (16, 6144, 2048, True, False): SplitTiling(16, 1, 256, 4, 4, 1),
    (16, 2048, 6144, False, True): SplitTiling(16, 1, 1024, 8, 3, 1),
    (24, 2560, 1024, False, False): SplitTiling(32, 1, 256, 4, 4, 1),
    (24, 1024, 2048, False, True): SplitTiling(16, 2, 1024, 4, 1, 1),
    (24, 4096, 1024, True, False): SplitTiling(16, 1, 256, 4, 4, 1),
    (24, 1024, 4096, False, True): SplitTiling(32, 4, 128, 4, 8, 2),
    (32, 2560, 2048, False, False): SplitTiling(16, 1, 256, 4, 8, 1),
    (32, 2048, 2048, False, True): SplitTiling(32, 2, 256, 4, 4, 1),
    (32, 6144, 2048, True, False): SplitTiling(16, 1, 128, 4, 8, 1),
    (32, 2048, 6144, False, True): SplitTiling(16, 2, 256, 4, 6, 1),
    (40, 2560, 1024, False, False): SplitTiling(16, 1, 256, 4, 4, 1),
    (40, 1024, 2048, False, True): SplitTiling(32, 4, 512, 4, 1, 1),
    (40, 4096, 1024, True, False): SplitTiling(16, 1, 256, 4, 2, 1),
    (40, 1024, 4096, False, True): SplitTiling(32, 8, 512, 4, 1, 1),
    (48, 2560, 1024, False, False): SplitTiling(16, 1, 256, 4, 4, 1),
    (48, 1024, 2048, False, True): SplitTiling(32, 4, 256, 4, 2, 1),
    (48, 4096, 1024, True, False): SplitTiling(16, 1, 128, 4, 8, 1),
    (48, 1024, 4096, False, True): SplitTiling(32, 8, 256, 4, 2, 1),
}
"""By (sum of row tiles, N, K, gated, split); on the H200, by `benchmarks/gpu/kernels/linear/few_rows.py`."""


PAYING_SHAPES = {(4096, 1024)}
"""(N, K) of first layers whose stacks are faster here with up to MAX_ROWS rows, by the rule's tilings: a step
of Qwen3-0.6B with 64 streams takes 1.30 ms on an H200, 1.43 by the matrix library."""


def row_tiles(num_rows: int) -> tuple[int, int]:
    """Rows of a program's two tiles, powers of two from 8 and the second possibly 0: 22 rows are 16 + 8.

    Raises ValueError for more than MAX_ROWS.
    """
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
    return known or rule_tiling(rows, num_outputs, size, gated, split)


def pays(num_rows: int, num_outputs: int, size: int) -> bool:
    """Whether `num_rows` rows take less time here than in the matrix library, as far as is known."""
    if num_rows <= FEWER_ROWS.get((num_outputs, size), FEW_ROWS):
        return True
    if num_rows > MAX_ROWS:
        return False
    measured = (sum(row_tiles(num_rows)), num_outputs, size, False, False) in MEASURED
    return measured or (num_outputs, size) in PAYING_SHAPES


def rule_tiling(rows: int, num_outputs: int, size: int, gated: bool, split: bool) -> SplitTiling:
    """Many small programs, of 4 warps and 16 outputs, with as many weights under way as `WEIGHTS` says.

    Parts of K are some 1,024 long, or shorter where there are few programs; with enough programs they have
    32 outputs, which halves what is read of the activations. Of the tilings that then fit the registers, the
    one with most weights under way, and the longest step; parts with nothing to do are dropped.
    """
    blocks, splits = -(-num_outputs // 16), 1
    while split and size >= splits * 256 and (size >= splits * 2048 or blocks * splits * 2 <= PROGRAMS):
        splits *= 2
    outputs = 32 if split and blocks * splits > PROGRAMS else 16
    part, warps = -(-size // splits), 4
    while warps > 1 and warps * 32 > part:
        warps //= 2
    tilings = list(_ways(outputs, splits, part, warps, outputs * (1 + gated)))
    fitting = [t for t in tilings if registers(rows, size, gated, t) <= REGISTERS]
    best = max(fitting or tilings[-1:], key=lambda t: (min(part, t.step * t.early), t.step))
    covered = -(-size // (splits * best.step)) * best.step
    return replace(best, splits=-(-size // covered))


def _ways(outputs: int, splits: int, part: int, warps: int, lines: int) -> Iterator[SplitTiling]:
    """Ways to go through a part of K of `lines` rows of weights; the last takes the fewest registers."""
    for per_warp in (256, 128, 64, 32):
        step, early = warps * per_warp, WEIGHTS * 64 // (lines * per_warp)
        if per_warp == 32 or (step < 2 * part and early):
            yield SplitTiling(outputs, splits, step, warps, max(1, min(early, -(-part // step))), 1)


def registers(rows: int, size: int, gated: bool, tiling: SplitTiling) -> int:
    """Registers per thread that weights and activations under way and sums take."""
    per_warp, factor = tiling.step // tiling.warps, 1 + gated
    steps = -(-size // (tiling.splits * tiling.step))
    weights = tiling.outputs * factor * per_warp // 64 * min(tiling.early + 1, steps)
    inputs = rows * per_warp // 64 * min(tiling.ahead + 1, steps)
    return weights + inputs + tiling.outputs * factor * rows // 32
