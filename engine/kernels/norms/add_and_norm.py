"""After a product shared out over K, in one kernel: its sum, the residual and the norm that comes next."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on, launch_options
from engine.kernels.low_rank.delta import NO_DELTA, Delta, has_adapter
from engine.kernels.norms.norm import warps_of


@triton.jit
def row_offsets(rows, inner, outer_stride, row_stride):
    """Where rows begin that are spaced evenly in groups of `inner`."""
    return rows // inner * outer_stride + rows % inner * row_stride


@triton.jit
def store_with_norm(values, scale, eps, hidden, normed, mask, SIZE: tl.constexpr):
    """Stores a row of fp32 values at `hidden`, and what was stored there, normalised, at `normed`."""
    rounded = values.to(hidden.dtype.element_ty)
    tl.store(hidden, rounded, mask=mask)
    values = rounded.to(tl.float32)
    inverse = tl.rsqrt(tl.sum(values * values, 0) / SIZE + eps)
    values = values * inverse * scale.to(tl.float32)
    tl.store(normed, values.to(normed.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["num_rows", "alpha", "eps", "inner", "num_entries"])
def add_and_norm_kernel(
    partials, residual, norm, hidden, normed, num_rows, alpha, eps, inner, outer_stride, row_stride,
    delta, turns, num_entries,
    SIZE: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr, REPEAT: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program r adds up row r, stores it in `hidden` and, normalised, in `normed`.

    With a REPEAT, rows of entries with an adapter have something more in `delta`.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    mask = column < SIZE
    scale = tl.load(norm + column, mask=mask, other=0.0)
    source = partials + row * SIZE + column
    beside = residual + row_offsets(row, inner, outer_stride, row_stride) + column
    if REPEAT:
        adapted = has_adapter(turns, row, num_entries, REPEAT)
    if PDL:
        tl.extra.cuda.gdc_wait()
    parts = ()
    for part in tl.static_range(PARTS):
        parts += (tl.load(source + part * num_rows * SIZE, mask=mask, other=0.0).to(tl.float32),)
    values = tl.load(beside, mask=mask, other=0.0).to(tl.float32)
    total = parts[0]
    for part in tl.static_range(1, PARTS):
        total += parts[part]
    if REPEAT:
        more = tl.load(delta + row * SIZE + column, mask=mask & adapted, other=0.0).to(tl.float32)
        total = tl.where(adapted, total + more, total)
    hidden_row, normed_row = hidden + row * SIZE + column, normed + row * SIZE + column
    store_with_norm(values + alpha * total, scale, eps, hidden_row, normed_row, mask, SIZE)


def add_and_norm(
    partials: Tensor,
    residual: Tensor,
    norm: Tensor,
    eps: float,
    alpha: float = 1.0,
    delta: Delta | None = None,
) -> tuple[Tensor, Tensor]:
    """x = residual + alpha * sum of partials, and x / sqrt(mean(x^2) + eps) * norm.

    partials: [parts, rows, H] of floats, contiguous, added in fp32 in their order.
    residual: [..., H] of as many rows, evenly spaced, the last stride 1; norm: [H].
    delta: what adapters add to the sum of partials.

    Returns: x, rounded to the type of `residual` and contiguous, and its norm alike.
    """
    parts, num_rows, size = partials.shape
    hidden, normed = (
        torch.empty(residual.shape, dtype=residual.dtype, device=residual.device) for _ in range(2)
    )
    block = triton.next_power_of_2(size)
    kernel_on(residual.device, add_and_norm_kernel)[(num_rows,)](
        partials, residual, norm, hidden, normed, num_rows, alpha, eps, *row_spacing(residual),
        **(NO_DELTA if delta is None else delta.told()),
        SIZE=size, PARTS=parts, BLOCK=block, num_warps=warps_of(block),
        **launch_options(residual.device),
    )  # fmt: skip
    return hidden, normed


def row_spacing(tensor: Tensor) -> tuple[int, int, int]:
    """(rows per group, stride of groups, stride of rows) of a tensor [..., size] seen as rows.

    Raises ValueError where its leading dimensions do not come down to two, or the last stride is not 1.
    """
    if tensor.stride(-1) != 1:
        raise ValueError("rows have to be contiguous")
    inner, stride = 1, tensor.stride(-2) if tensor.dim() > 1 else 0
    groups = list(zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True))
    while groups and (groups[-1][0] == 1 or groups[-1][1] == inner * stride):
        inner *= groups.pop()[0]
    outer, outer_stride = 1, groups[-1][1] if groups else 0
    while groups and (groups[-1][0] == 1 or groups[-1][1] == outer * outer_stride):
        outer *= groups.pop()[0]
    if groups:
        raise ValueError(
            f"rows of shape {tuple(tensor.shape)}, strides {tensor.stride()} are not evenly spaced"
        )
    return inner, outer_stride, stride
