"""With which tiles the kernels of the fused VAE decoder run, by the size of a layer and of the batch."""

from __future__ import annotations

from typing import NamedTuple

import triton

MIN_TILE = 16
"""Rows and columns of the smallest tile that tensor cores multiply."""


class Tile(NamedTuple):
    """Rows and columns of a program's output, inputs per step of its loop, warps, loads in flight, the most
    registers a thread may take (None: as the compiler likes), and how many frames a row stands for: each is
    fetched once for all of these.
    """

    m: int
    n: int
    k: int
    warps: int
    stages: int
    registers: int | None = None
    steps: int = 1

    def options(self) -> dict[str, int | None]:
        return {"num_warps": self.warps, "num_stages": self.stages, "maxnreg": self.registers}


CONV_TILES = (
    Tile(128, 128, 32, 8, 3, 128),
    Tile(128, 64, 32, 4, 3),
    Tile(64, 64, 32, 4, 4),
    Tile(32, 32, 64, 4, 4),
    Tile(16, 32, 128, 4, 4),
    Tile(16, 16, 128, 4, 4),
)
"""From the largest to the smallest: the largest that gives every processor a program is taken."""
SEPARABLE_TILES = {
    16: (Tile(32, 16, 32, 4, 1), Tile(16, 16, 64, 4, 1)),
    32: (Tile(64, 32, 32, 8, 1, None, 4), Tile(32, 32, 64, 8, 1)),
    64: (Tile(32, 64, 32, 8, 1, None, 4), Tile(32, 64, 64, 8, 1), Tile(16, 64, 64, 4, 1)),
    128: (Tile(32, 128, 32, 8, 1, None, 4), Tile(32, 128, 64, 8, 1), Tile(16, 128, 128, 8, 1)),
}
"""By columns, the same. Compiled without spills."""
MAX_SEPARABLE_OUTPUTS = 128
MAX_SEPARABLE_INPUTS = 64
DEPTHWISE_STEPS = (8, 4, 2)


def conv_tile(rows: int, columns: int, processors: int, groups: int = 1) -> Tile:
    """The largest tile no larger than the output that leaves every processor a program.

    groups: such outputs of as many rows each, which have no tile in common.
    """
    for tile in CONV_TILES:
        fits = tile.m <= _padded(rows) and tile.n <= _padded(columns)
        if fits and groups * triton.cdiv(rows, tile.m) * triton.cdiv(columns, tile.n) >= processors:
            return tile
    return CONV_TILES[-1]


def separable_tile(
    streams: int, frames: int, inputs: int, columns: int, dilation: int, processors: int
) -> Tile | None:
    """The largest tile that leaves every processor two programs, or the smallest; None: two kernels do it.

    Programs that share frames compute their convolution each, which pays for few outputs or inputs only.
    """
    if columns > MAX_SEPARABLE_OUTPUTS and inputs > MAX_SEPARABLE_INPUTS:
        return None
    n = min(_padded(columns), MAX_SEPARABLE_OUTPUTS)
    for tile in SEPARABLE_TILES[n]:
        tiles = triton.cdiv(streams * runs(frames, dilation, tile.steps), tile.m) * triton.cdiv(columns, n)
        if tiles >= 2 * processors:
            return tile
    while (
        n > 2 * MIN_TILE and 2 * triton.cdiv(streams * frames, tile.m) * triton.cdiv(columns, n) < processors
    ):
        n //= 2
    return tile._replace(n=n)


def depthwise_tile(streams: int, frames: int, channels: int, dilation: int, processors: int) -> Tile:
    """Runs as long as leave every processor several programs."""
    n = min(64, triton.next_power_of_2(channels))
    for steps in DEPTHWISE_STEPS:
        m = 512 // n
        programs = triton.cdiv(streams * runs(frames, dilation, steps), m) * triton.cdiv(channels, n)
        if programs >= 8 * processors:
            return Tile(m, n, 0, 4, 1, None, steps)
    return Tile(max(1, 256 // n), n, 0, 4, 1)


def runs(frames: int, dilation: int, steps: int) -> int:
    """Runs of `steps` frames, each `dilation` after the one before, that a stream's frames make."""
    return triton.cdiv(frames, dilation * steps) * dilation if steps > 1 else frames


def step_of(inputs: int, largest: int) -> int:
    """Inputs per step of a product's loop: a power of two, and a divisor where there is one."""
    divisor = inputs & -inputs
    return min(divisor if divisor >= MIN_TILE else _padded(inputs), largest)


def _padded(size: int) -> int:
    return max(MIN_TILE, triton.next_power_of_2(size))
