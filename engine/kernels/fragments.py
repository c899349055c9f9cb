"""Tiles of attention as a warp loads them, which are its parts of the operands of a product.

A tile of vectors is loaded with axes: quarter of 32 elements (4), row (8), eights of rows, chunk of 32
elements, 8 elements. The first two are a warp's lanes, so that a lane holds 16 contiguous bytes (in 2-byte
types) of a row. Vectors of heads are handled as two halves of HALF elements, each a tile of its own, since
the rotary embedding mixes element i of one with element i of the other; a half is padded to a power of two
from 32.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def lanes(base, offsets):
    """Addresses whose first axes, of 4 and 8, are to be a warp's lanes: the compiler ranks axes by
    contiguity, and the hint has to stand beside the addition to a pointer."""
    return tl.max_contiguous(base + offsets, (8, 4, 1, 1, 16))


@triton.jit
def fragments(tile, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr):
    """A tile as it is loaded -> [rows, elements], operand of `tl.dot`, with no data exchanged.

    Axes of a loaded tile: quarter of 32 elements (4), row (8), eights of rows, chunk of 32 elements, 8
    elements. Lane q of a row wants elements 2q, 2q+1, 2q+8, 2q+9 of 16 for mma.m16n8k16; as the order of a
    sum is free, its 8 elements are declared to be these of two such 16s, for both operands alike.
    """
    tile = tl.permute(tl.reshape(tile, (4, 8, EIGHTS, CHUNKS, 2, 2, 2)), (2, 1, 3, 4, 5, 0, 6))
    return tl.reshape(tile, (EIGHTS * 8, CHUNKS * 32))


@triton.jit
def shuffled(values, TOKENS: tl.constexpr, CHUNKS: tl.constexpr):
    """Values [TOKENS, 2, elements] as an operand, so that a lane's part of a product is 8 neighbours."""
    values = tl.permute(tl.reshape(values, (TOKENS, CHUNKS, 4, 4, 2)), (0, 1, 3, 2, 4))
    return tl.reshape(values, (TOKENS, CHUNKS * 32))


@triton.jit
def unshuffled(mixed, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr):
    """A product [rows, 2 elements] with shuffled values -> its halves, as tiles like loaded ones."""
    mixed = tl.permute(tl.reshape(mixed, (EIGHTS, 8, 2, CHUNKS, 4, 4, 2)), (5, 1, 0, 3, 4, 6, 2))
    mixed_a, mixed_b = tl.split(mixed)
    return tl.reshape(mixed_a, (4, 8, EIGHTS, CHUNKS, 8)), tl.reshape(mixed_b, (4, 8, EIGHTS, CHUNKS, 8))


@triton.jit
def elements(CHUNKS: tl.constexpr):
    """Which element of a half each entry of a tile is."""
    chunk = (tl.arange(0, 4) * 8)[:, None, None, None, None] + (tl.arange(0, CHUNKS) * 32)[
        None, None, None, :, None
    ]
    return chunk + tl.arange(0, 8)[None, None, None, None, :]


@triton.jit
def rows(EIGHTS: tl.constexpr):
    """Which row each entry of a tile is in."""
    return tl.arange(0, 8)[None, :, None, None, None] + (tl.arange(0, EIGHTS) * 8)[None, None, :, None, None]


@triton.jit
def rows_of_lanes(EIGHTS: tl.constexpr):
    """`rows` with the axis of quarters, for loads of one value per row, which all lanes of a row then have.
    The compiler must not know that all quarters are alike."""
    return (tl.arange(0, 4) // 4)[:, None, None, None, None] + rows(EIGHTS)


@triton.jit
def _wide(base, row, stride, in_rows, HALF: tl.constexpr, CHUNKS: tl.constexpr):
    """Addresses and mask of a tile in fp32: its 8 elements are twice 16 bytes, an axis more."""
    element = (
        (tl.arange(0, 4) * 8)[:, None, None, None, None, None]
        + (tl.arange(0, CHUNKS) * 32)[None, None, None, :, None, None]
        + (tl.arange(0, 2) * 4)[None, None, None, None, :, None]
        + tl.arange(0, 4)[None, None, None, None, None, :]
    )
    offsets = row[:, :, :, :, :, None] * stride + element
    pointers = tl.max_contiguous(base + offsets, (8, 4, 1, 1, 1, 16))
    return pointers, in_rows[:, :, :, :, :, None] & (element < HALF)


@triton.jit
def factors(table, token, in_rows, HALF: tl.constexpr, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr):
    """Rotary factors of `token` for a loaded tile, from fp32 [tokens, 2 HALF]: those of the second half."""
    pointers, mask = _wide(table + HALF, token, 2 * HALF, in_rows, HALF, CHUNKS)
    return tl.reshape(tl.load(pointers, mask=mask, other=0.0), (4, 8, EIGHTS, CHUNKS, 8))


@triton.jit
def store_wide(
    base, row, stride, tile, in_rows, HALF: tl.constexpr, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr
):
    """Stores a tile of fp32, `row` of which begins at `row * stride`."""
    pointers, mask = _wide(base, row, stride, in_rows, HALF, CHUNKS)
    tl.store(pointers, tl.reshape(tile, (4, 8, EIGHTS, CHUNKS, 2, 4)), mask=mask)


@triton.jit
def rotated(a, b, cos, sin):
    """Halves a and b of heads, rotated: fp32."""
    a, b = a.to(tl.float32), b.to(tl.float32)
    return a * cos - b * sin, b * cos + a * sin
