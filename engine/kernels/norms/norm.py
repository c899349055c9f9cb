"""Root-mean-square normalisation in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.linear.spare_rows import empty_with_spare

_ELEMENTS_PER_WARP = 256
"""Programs have to fit beside those of the product that comes next."""


@triton.jit
def rms_norm_kernel(
    x, weight, out, row_stride, eps,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program r normalises row r."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < SIZE
    scale = tl.load(weight + column, mask=mask, other=0.0).to(tl.float32)
    if PDL:
        tl.extra.cuda.gdc_wait()
    values = tl.load(x + row * row_stride + column, mask=mask, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(values * values, 0) / SIZE + eps)
    tl.store(out + row * SIZE + column, (values * inverse * scale).to(out.dtype.element_ty), mask=mask)


def warps_of(block: int) -> int:
    """How many warps a program has that normalises a row of `block` values."""
    return min(16, max(1, block // _ELEMENTS_PER_WARP))


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension, computed in fp32.

    x [..., H] of any strides whose last is 1, weight [H]; returns a contiguous tensor of the shape of x.
    """
    size = x.shape[-1]
    rows = x.reshape(-1, size)
    out = empty_with_spare(x.shape, x)
    block = triton.next_power_of_2(size)
    kernel_on(x.device, rms_norm_kernel)[(len(rows),)](
        rows, weight, out, rows.stride(0), eps,
        SIZE=size, BLOCK=block, num_warps=warps_of(block),
        **launch_options(x.device, len(rows)),
    )  # fmt: skip
    return out
