"""For which rows `tiled_linear` was seen to pay, and by which tiles."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tiling:
    """Rows and outputs of a tile, elements of K in a step, and how many steps are under way."""

    rows: int
    outputs: int
    inputs: int
    warps: int
    stages: int


SQUARE, WIDE = Tiling(128, 128, 64, 8, 4), Tiling(64, 128, 64, 4, 5)
"""With a gate."""
DEEP = Tiling(64, 128, 128, 4, 4)
"""Without."""
Tilings = dict[tuple[int, int], dict[int, Tiling]]
"""By outputs and inputs of a layer: rows, and the tiling that pays for them. Rows are those of steps of the
releases' DiTs, 22 of a stream with VoxCPM2, 18 with VoxCPM1.5, 10 with VoxCPM-0.5B. `python -m
benchmarks.gpu.kernels.linear.tiles --shape SHAPE` looks for them, here on H200s with torch 2.11
(`benchmarks/results/gpu_tiles*.json`): a layer of VoxCPM2 takes 91 us instead of 98 with 1,408 rows and 128
instead of 139 with 2,112. Its steps of 8 to 128 streams take 1 to 7 % less (`gpu_tiles_steps.json`)."""


def _of(tiling: Tiling, *rows: int) -> dict[int, Tiling]:
    return dict.fromkeys(rows, tiling)


_VOXCPM2_GATED = {
    **_of(SQUARE, 352, 440, 880, 1408, 1936, 2288, 2464, 2640, 2816, 3168, 3520, 3872),
    **_of(SQUARE, 4224, 4576, 4928, 5280, 5632),
    **_of(WIDE, 132, 176, 616, 704, 1056, 1232, 1584, 1760, 2112),
}
_VOXCPM15_GATED = {
    **_of(SQUARE, 432, 864, 1008, 1296, 1440, 2016, 2880, 3168, 3456, 3744, 4032, 4320, 4608),
    **_of(WIDE, 144, 720, 1152, 1728, 2304, 2592),
}
_VOXCPM05_GATED = {
    **_of(SQUARE, 480, 800, 960, 1440, 1920, 2400, 2560),
    **_of(WIDE, 160, 240, 640, 720, 1120, 1280, 1600, 1760, 2080, 2240),
}
GATED_TILINGS: Tilings = {(4096, 1024): _VOXCPM2_GATED | _VOXCPM15_GATED | _VOXCPM05_GATED}
LINEAR_TILINGS: Tilings = {
    (2560, 1024): _of(DEEP, 132, 176, 264, 352),
    (1280, 1024): _of(DEEP, 144, 160, 240, 288, 320, 432, 480, 576, 640),
}
