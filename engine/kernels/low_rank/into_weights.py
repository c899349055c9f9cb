"""Weights with what adds to them in them: every part of every product of a model in one launch.

    parts = WeightParts([WeightPart(weight, base, down_offset, up_offset), ...], rank)
    add_into_weights(parts, matrices)      # weight = base + up down, of each part
    restore_weights(parts)                 # weight = base

`down` and `up` lie in one row of elements, as an adapter does in a slot. Sums are fp32. What they come to is
rounded up or down by chance, more often to the nearer of the two (stochastic rounding: Gupta et al., "Deep
Learning with Limited Numerical Precision", 2015), where weights are bfloat16: what adds less than half of the
distance to the next value would else be lost altogether. Chance is a hash of where the weight is, so that the
same adapter always gives the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.device.staging import upload
from engine.kernels.launch import kernel_on

BLOCK_N, BLOCK_K = 32, 128
"""Outputs and inputs of a program."""


class WeightPart(NamedTuple):
    """Rows of a product's weight. weight, base: [outputs, inputs], contiguous; base is what it is without.

    down, up: where the matrices [rank, inputs] and [outputs, rank] begin in the row, in elements.
    """

    weight: Tensor
    base: Tensor
    down: int
    up: int


class WeightParts:
    """Parts of one device and type, as the kernel finds them.

    Attributes:
        places: int64 [parts, 7]: addresses of weight and base, where down and up begin, outputs, inputs, and
            the first program.
        part_of: int32 [programs].
        aligned: whether rows begin at multiples of 16 elements, addresses at multiples of 16 bytes.
    """

    def __init__(self, parts: Sequence[WeightPart], rank: int) -> None:
        like = parts[0].weight
        self.rank, self.dtype, self.device = rank, like.dtype, like.device
        self._kept = [(part.weight, part.base) for part in parts]  # for their addresses
        places = [
            (part.weight.data_ptr(), part.base.data_ptr(), part.down, part.up, *part.weight.shape)
            for part in parts
        ]
        self.aligned = not (np.array(places) % 16).any()
        programs = [_programs(*part.weight.shape) for part in parts]
        first = np.cumsum([0, *programs])
        self.places = upload(np.column_stack([places, first[:-1]]), self.device)
        number = torch.arange(len(parts), dtype=torch.int32, device=self.device)
        counts = upload(np.array(programs), self.device)
        self.part_of = number.repeat_interleave(counts, output_size=int(first[-1]))


def _programs(outputs: int, inputs: int) -> int:
    return triton.cdiv(outputs, BLOCK_N) * triton.cdiv(inputs, BLOCK_K)


@triton.jit
def _rounded_by_chance(values, place, TYPE: tl.constexpr):
    """fp32 -> TYPE. place: int32, of each value another."""
    if tl.bfloat16 == TYPE:
        chance = place.to(tl.uint32) * 0x9E3779B1
        chance = (chance ^ (chance >> 15)) * 0x85EBCA77
        chance = (chance ^ (chance >> 13)) * 0xC2B2AE3D
        bits = values.to(tl.uint32, bitcast=True) + (chance >> 16)
        values = (bits & 0xFFFF0000).to(tl.float32, bitcast=True)
    return values.to(TYPE)


@triton.jit
def into_weights_kernel(
    places, part_of, matrices,
    TYPE: tl.constexpr, RANK: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ALIGNED: tl.constexpr, ADDED: tl.constexpr,
):  # fmt: skip
    """A program writes a tile: base, and up down where it is ADDED. See `WeightParts`."""
    part = places + 7 * tl.load(part_of + tl.program_id(0))
    tile = tl.program_id(0) - tl.load(part + 6).to(tl.int32)
    weight_at, base_at = tl.load(part), tl.load(part + 1)
    down_at, up_at = tl.load(part + 2), tl.load(part + 3)
    num_outputs, num_inputs = tl.load(part + 4).to(tl.int32), tl.load(part + 5).to(tl.int32)
    if ALIGNED:
        weight_at, base_at = tl.multiple_of(weight_at, 16), tl.multiple_of(base_at, 16)
        down_at, up_at = tl.multiple_of(down_at, 16), tl.multiple_of(up_at, 16)
        num_inputs = tl.multiple_of(num_inputs, 16)
    weight, base = weight_at.to(tl.pointer_type(TYPE)), base_at.to(tl.pointer_type(TYPE))
    across = tl.cdiv(num_inputs, BLOCK_K)
    output = tile // across * BLOCK_N + tl.arange(0, BLOCK_N)
    column = tile % across * BLOCK_K + tl.arange(0, BLOCK_K)
    there = (output < num_outputs)[:, None] & (column < num_inputs)[None, :]
    place = output[:, None] * num_inputs + column[None, :]
    values = tl.load(base + place, mask=there, other=0.0)
    if ADDED:
        rank = tl.arange(0, RANK)
        down = tl.load(
            matrices + down_at + rank[:, None] * num_inputs + column[None, :],
            mask=(column < num_inputs)[None, :], other=0.0,
        )  # fmt: skip
        up = tl.load(
            matrices + up_at + output[:, None] * RANK + rank[None, :],
            mask=(output < num_outputs)[:, None], other=0.0,
        )  # fmt: skip
        total = tl.dot(up, down, values.to(tl.float32), input_precision="ieee")
        values = _rounded_by_chance(total, place, TYPE)
    tl.store(weight + place, values, mask=there)


_TYPES = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.float32: tl.float32}


def add_into_weights(parts: WeightParts, matrices: Tensor) -> None:
    """Add one adapter to the weights, in place. matrices: its row [elements], with every down and up."""
    _launch(parts, matrices, True)


def restore_weights(parts: WeightParts) -> None:
    """Every weight as its base is, in every bit."""
    _launch(parts, parts.places, False)


def _launch(parts: WeightParts, matrices: Tensor, added: bool) -> None:
    kernel_on(parts.device, into_weights_kernel)[(len(parts.part_of),)](
        parts.places, parts.part_of, matrices, TYPE=_TYPES[parts.dtype], RANK=parts.rank,
        BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, ALIGNED=parts.aligned, ADDED=added, num_warps=4,
    )  # fmt: skip
