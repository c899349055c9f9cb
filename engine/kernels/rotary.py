"""Norms and rotary embedding of queries and keys where the product that made them left them.

The rotation is that of `engine.layers.rotary.apply_rotary`: with the halves a and b of a head,
a' = a cos - b sin and b' = b cos + a sin, computed in fp32.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.attention.backend import HeadNorms, Rope
from engine.kernels.launch import kernel_on, launch_options

_HEADS_PER_PROGRAM = 8


@triton.jit(do_not_specialize=["eps"])
def rotary_kernel(
    heads, cos, sin, q_norm, k_norm, eps, token_stride,
    HEADS: tl.constexpr, QUERIES: tl.constexpr, HALF: tl.constexpr, BLOCK_HEADS: tl.constexpr,
    BLOCK_HALF: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (token, block) normalises (where there are norms) and rotates (where there are cosines)
    BLOCK_HEADS heads of one token in place; the first QUERIES heads by the norm of queries."""
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
    a = tl.load(first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(first + HALF, mask=mask, other=0.0).to(tl.float32)
    if q_norm is not None:
        is_query = (head < QUERIES)[:, None]
        q_a, k_a = _half(q_norm, element, in_head), _half(k_norm, element, in_head)
        q_b, k_b = _half(q_norm + HALF, element, in_head), _half(k_norm + HALF, element, in_head)
        inverse = tl.rsqrt(tl.sum(a * a + b * b, 1) / (2 * HALF) + eps)[:, None]
        a *= inverse * tl.where(is_query, q_a, k_a)
        b *= inverse * tl.where(is_query, q_b, k_b)
    if cos is not None:
        c = tl.load(cos + factor, mask=in_head, other=0.0)[None, :]
        s = tl.load(sin + factor, mask=in_head, other=0.0)[None, :]
        a, b = a * c - b * s, b * c + a * s
    tl.store(first, a.to(heads.dtype.element_ty), mask=mask)
    tl.store(first + HALF, b.to(heads.dtype.element_ty), mask=mask)


@triton.jit
def _half(norm, element, in_head):
    """Half of the weights of a norm, beside heads."""
    return tl.load(norm + element, mask=in_head, other=0.0).to(tl.float32)[None, :]


def rotate_(
    qkv: Tensor,
    num_heads: int,
    head_dim: int,
    rope: Rope | None,
    norms: HeadNorms | None = None,
    num_queries: int = 0,
) -> None:
    """Normalises and rotates the first `num_heads` heads of every token of qkv [T, C] in place.

    rope: fp32 [T, 1, head_dim] of `LongRope.cos_sin`. num_queries: how many of the heads are queries, which
    `norms` asks for. The last dimension of qkv must be contiguous.
    """
    block = min(_HEADS_PER_PROGRAM, triton.next_power_of_2(num_heads))
    blocks = triton.cdiv(num_heads, block)
    kernel_on(qkv.device, rotary_kernel)[(len(qkv), blocks)](
        qkv, *(rope or (None, None)), *(norms or (None, None, 0.0)), qkv.stride(0),
        HEADS=num_heads, QUERIES=num_queries, HALF=head_dim // 2, BLOCK_HEADS=block,
        BLOCK_HALF=triton.next_power_of_2(head_dim // 2), num_warps=2,
        **launch_options(qkv.device, len(qkv) * blocks),
    )  # fmt: skip
