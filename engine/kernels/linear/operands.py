"""How kernels load operands of `tl.dot` straight into the registers the tensor cores read them from."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def fragments(tile, WARPS: tl.constexpr, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr):
    """A tile as it is loaded -> [WARPS, rows, K of a warp], operand of `tl.dot`, with no data exchanged.

    Axes of a loaded tile: quarter of 32 elements (4), row (8), warp, eights of rows, chunk of 32 elements, 8
    elements. The first two are a warp's lanes, so a lane holds 16 contiguous bytes of one row. An operand of
    mma.m16n8k16 wants elements 2q, 2q+1, 2q+8 and 2q+9 of 16 in lane q of a row; as the order of a sum over K
    is free, the 8 elements of lane q are declared to be these of two such 16s, for both operands alike.
    """
    tile = tl.reshape(tile, (4, 8, WARPS, EIGHTS, CHUNKS, 2, 2, 2))
    tile = tl.permute(tile, (2, 3, 1, 4, 5, 6, 0, 7))
    return tl.reshape(tile, (WARPS, EIGHTS * 8, CHUNKS * 32))


@triton.jit
def tile_at(base, offsets):
    """Addresses with axes ranked for the compiler, which goes by contiguity: lanes and warps are to own what
    `fragments` says. The hint has to stand beside the only addition to a pointer, or it is lost."""
    return tl.max_contiguous(base + offsets, (8, 4, 2, 1, 1, 16))


@triton.jit
def load_weights(base, offsets, mask, MASKED: tl.constexpr):
    if MASKED:
        return tl.load(tile_at(base, offsets), mask=mask, other=0.0, eviction_policy="evict_first")
    return tl.load(tile_at(base, offsets), eviction_policy="evict_first")
