"""Tiles that suit Triton's interpreter."""

from __future__ import annotations

import triton

from models.voxcpm.fused.vae_tiles import Tile


def whole_tile(streams: int, frames: int, inputs: int, columns: int, *_: int) -> Tile:
    """One program for a whole layer: in the interpreter it costs as much as a small one."""
    return Tile(triton.next_power_of_2(streams * frames), max(16, triton.next_power_of_2(columns)), 64, 4, 1)
