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
"""By outputs and inputs of a layer: rows, and the tiling that pays for them. Rows are those of steps of
VoxCPM's DiT, 22 of a stream. `python -m benchmarks.gpu.kernels.tiles` looks for them, here on H200s with
torch 2.11 (`benchmarks/results/gpu_tiles.json`): a layer takes 91 us instead of 98 with 1,408 rows and 128
instead of 139 with 2,112. Steps of 8 to 128 streams take 1 to 7 % less (`gpu_tiles_steps.json`)."""
GATED_TILINGS: Tilings = {
    (4096, 1024): {
        **dict.fromkeys((352, 440, 880, 1408, 1936, 2288, 2464, 2640, 2816, 3168, 3520, 3872), SQUARE),
        **dict.fromkeys((4224, 4576, 4928, 5280, 5632), SQUARE),
        **dict.fromkeys((132, 176, 616, 704, 1056, 1232, 1584, 1760, 2112), WIDE),
    }
}
LINEAR_TILINGS: Tilings = {(2560, 1024): dict.fromkeys((132, 176, 264, 352), DEEP)}
