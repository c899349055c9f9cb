"""Rotary embedding of queries and keys where the product that made them left them.

The rotation is that of `engine.layers.rotary.apply_rotary`: with the halves a and b of a head,
a' = a cos - b sin and b' = b cos + a sin, computed in fp32.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on, launch_options

_HEADS_PER_PROGRAM = 8


@triton.jit
def rotary_kernel(
    heads, cos, sin, token_stride,
    HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK_HEADS: tl.constexpr, BLOCK_HALF: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Program (token, block) rotates BLOCK_HEADS heads of one token in place."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    element = tl.arange(0, BLOCK_HALF)
    in_head = element < HALF
    mask = (head < HEADS)[:, None] & in_head[None, :]
    first = heads + token * token_stride + head[:, None] * (2 * HALF) + element[None, :]
    factor = token * (2 * HALF) + HALF + element
    if PDL:
        tl.extra.cuda.gdc_wait()
    c = tl.load(cos + factor, mask=in_head, other=0.0)[None, :]
    s = tl.load(sin + factor, mask=in_head, other=0.0)[None, :]
    a = tl.load(first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(first + HALF, mask=mask, other=0.0).to(tl.float32)
    tl.store(first, (a * c - b * s).to(heads.dtype.element_ty), mask=mask)
    tl.store(first + HALF, (b * c + a * s).to(heads.dtype.element_ty), mask=mask)


def rotate_(qkv: Tensor, num_heads: int, head_dim: int, cos: Tensor, sin: Tensor) -> None:
    """Rotates the first `num_heads` heads of every token of qkv [T, C] in place.

    cos, sin: fp32 [T, 1, head_dim] of `LongRope.cos_sin`. The last dimension of qkv must be contiguous.
    """
    block = min(_HEADS_PER_PROGRAM, triton.next_power_of_2(num_heads))
    kernel_on(qkv.device, rotary_kernel)[(len(qkv), triton.cdiv(num_heads, block))](
        qkv, cos, sin, qkv.stride(0),
        HEADS=num_heads, HALF=head_dim // 2, BLOCK_HEADS=block,
        BLOCK_HALF=triton.next_power_of_2(head_dim // 2), num_warps=2, **launch_options(qkv.device),
    )  # fmt: skip
