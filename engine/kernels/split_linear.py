"""Linear layers of few rows whose work is spread evenly: y = x W^T over parts of K, then sum, residual, norm.

A product of, say, 22 rows is read twice over: the weights once, and x again by every program. What a program
can fetch per microsecond is limited, so its share of both has to be small, and all programs should run side
by side: a layer with few outputs shares out K over programs, too. Their sums, in fp32, are added in a fixed
order by a kernel of one program per row, which also adds the residual and takes the norm that comes next, so
that products find normalised rows and do nothing but multiply. Within a program the work is that of
`skinny_linear`: outputs are the long side of a tile, warps share out K, operands are loaded as the tensor
cores want them, and weights are under way before the kernel that makes the activations has ended.

    hidden, normed = add_and_norm(partial_linear(attended, o), x, g, eps=1e-5)
    gated = split_linear(normed, gate_up, gated=True)
    hidden, normed = add_and_norm(partial_linear(gated, down), hidden, next_g, eps=1e-5)
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.attention.triton_kernels import INTERPRETED
from engine.kernels.launch import launch_options
from engine.kernels.skinny_linear import (
    _fragments,
    _load_before_computing,
    _offsets,
    _rows,
    _tile,
    _weights,
)
from engine.kernels.split_tiling import SplitTiling, pays, row_tiles, split_tiling

_ELEMENTS_PER_WARP = 256
"""Of the sum and norm, whose programs have to fit beside those of the product that comes next."""


@triton.jit
def _activations(base, row, k, step, num_rows, limit, K: tl.constexpr, MASKED: tl.constexpr):
    """Rows of x at K step + k, zero beyond the rows and the limit of K."""
    mask = row < num_rows
    if MASKED:
        mask = mask & (step + k < limit)
    return tl.load(_tile(base + step, row * K + k), mask=mask, other=0.0)


@triton.jit
def _multiply(
    weights, values, product,
    WARPS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    operand = tl.trans(_fragments(values, WARPS, BLOCK_M // 8, CHUNKS), (0, 2, 1))
    tile = _fragments(weights, WARPS, BLOCK_N // 8, CHUNKS)
    return tl.dot(tile, operand, product, input_precision="ieee")


@triton.jit
def _finish(
    product, product_up, out, first_row, first_output, num_rows,
    N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GATED: tl.constexpr,
):  # fmt: skip
    """Adds up the warps' sums and stores them."""
    rows, outputs = first_row + tl.arange(0, BLOCK_M), first_output + tl.arange(0, BLOCK_N)
    result = tl.sum(product, 0)
    if GATED:
        result = result / (1.0 + tl.exp(-result)) * tl.sum(product_up, 0)
    mask = (rows < num_rows)[None, :] & (outputs < N)[:, None]
    target = out + rows[None, :] * N + outputs[:, None]
    tl.store(target, result.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["num_rows"])
def split_linear_kernel(
    x, weight, out, num_rows,
    N: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, BLOCK_M: tl.constexpr, TAIL: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EARLY: tl.constexpr, AHEAD: tl.constexpr,
    WARPS: tl.constexpr, GATED: tl.constexpr, FENCE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (i, s) computes BLOCK_N outputs of BLOCK_M + TAIL rows, over part s of K, into out[s].

    x [num_rows, K], weight [N or 2N, K] and out [parts, num_rows, N] are contiguous; PART is a multiple of
    BLOCK_K.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    STEPS: tl.constexpr = PART // BLOCK_K
    SLICE: tl.constexpr = BLOCK_K // WARPS
    CHUNKS: tl.constexpr = SLICE // 32
    MASKED: tl.constexpr = K % PART != 0
    MASKED_WEIGHTS: tl.constexpr = MASKED or N % BLOCK_N != 0
    first_output, first_k = tl.program_id(0) * BLOCK_N, tl.program_id(1) * PART
    eight = tl.arange(0, 8)
    k = (
        (tl.arange(0, 4) * 8)[:, None, None, None, None, None]
        + (tl.arange(0, WARPS) * SLICE)[None, None, :, None, None, None]
        + (tl.arange(0, CHUNKS) * 32)[None, None, None, None, :, None]
        + eight[None, None, None, None, None, :]
    )
    row_of_eight = eight[None, :, None, None, None, None]
    output = row_of_eight + (tl.arange(0, BLOCK_N // 8) * 8)[None, None, None, :, None, None]
    row = row_of_eight + (tl.arange(0, BLOCK_M // 8) * 8)[None, None, None, :, None, None]
    limit = K - first_k
    in_outputs = first_output + output < N
    weights = weight + (first_output.to(tl.int64) * K + first_k)
    weights_up = weights + N * K
    weight_offsets = output * K + k
    inputs = x + first_k

    gates, ups, values, tails = (), (), (), ()
    for step in tl.static_range(EARLY):
        in_tile = in_outputs & (step * BLOCK_K + k < limit)
        gates += (_weights(weights + step * BLOCK_K, weight_offsets, in_tile, MASKED_WEIGHTS),)
        if GATED:
            ups += (_weights(weights_up + step * BLOCK_K, weight_offsets, in_tile, MASKED_WEIGHTS),)
    if PDL:
        tl.extra.cuda.gdc_wait()
    for step in tl.static_range(AHEAD):
        values += (_activations(inputs, row, k, step * BLOCK_K, num_rows, limit, K, MASKED),)
        if TAIL:
            row_of_tail = (
                BLOCK_M + row_of_eight + (tl.arange(0, TAIL // 8) * 8)[None, None, None, :, None, None]
            )
            tails += (_activations(inputs, row_of_tail, k, step * BLOCK_K, num_rows, limit, K, MASKED),)
    if FENCE:
        _load_before_computing()

    product = tl.zeros([WARPS, BLOCK_N, BLOCK_M], tl.float32)
    product_up = product
    if TAIL:
        product_tail = tl.zeros([WARPS, BLOCK_N, TAIL], tl.float32)
        product_up_tail = product_tail
    for step in tl.static_range(STEPS):
        if step + EARLY < STEPS:
            later = (step + EARLY) * BLOCK_K
            in_tile = in_outputs & (later + k < limit)
            gates += (_weights(weights + later, weight_offsets, in_tile, MASKED_WEIGHTS),)
            if GATED:
                ups += (_weights(weights_up + later, weight_offsets, in_tile, MASKED_WEIGHTS),)
        if step + AHEAD < STEPS:
            later = (step + AHEAD) * BLOCK_K
            values += (_activations(inputs, row, k, later, num_rows, limit, K, MASKED),)
            if TAIL:
                row_of_tail = (
                    BLOCK_M + row_of_eight + (tl.arange(0, TAIL // 8) * 8)[None, None, None, :, None, None]
                )
                tails += (_activations(inputs, row_of_tail, k, later, num_rows, limit, K, MASKED),)
        product = _multiply(gates[step], values[step], product, WARPS, BLOCK_M, BLOCK_N, CHUNKS)
        if GATED:
            product_up = _multiply(ups[step], values[step], product_up, WARPS, BLOCK_M, BLOCK_N, CHUNKS)
        if TAIL:
            product_tail = _multiply(gates[step], tails[step], product_tail, WARPS, TAIL, BLOCK_N, CHUNKS)
            if GATED:
                product_up_tail = _multiply(
                    ups[step], tails[step], product_up_tail, WARPS, TAIL, BLOCK_N, CHUNKS
                )
    target = out + tl.program_id(1) * num_rows * N
    _finish(product, product_up, target, 0, first_output, num_rows, N, BLOCK_M, BLOCK_N, GATED)
    if TAIL:
        _finish(
            product_tail, product_up_tail, target, BLOCK_M, first_output, num_rows, N, TAIL, BLOCK_N, GATED
        )


@triton.jit(do_not_specialize=["num_rows", "alpha", "eps", "inner"])
def add_and_norm_kernel(
    partials, residual, norm, hidden, normed, num_rows, alpha, eps, inner, outer_stride, row_stride,
    SIZE: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program r adds up row r, stores it in `hidden` and, normalised, in `normed`."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    mask = column < SIZE
    scale = tl.load(norm + column, mask=mask, other=0.0)
    source = partials + row * SIZE + column
    beside = residual + _offsets(row, inner, outer_stride, row_stride) + column
    if PDL:
        tl.extra.cuda.gdc_wait()
    parts = ()
    for part in tl.static_range(PARTS):
        parts += (tl.load(source + part * num_rows * SIZE, mask=mask, other=0.0),)
    values = tl.load(beside, mask=mask, other=0.0).to(tl.float32)
    total = parts[0]
    for part in tl.static_range(1, PARTS):
        total += parts[part]
    rounded = (values + alpha * total).to(hidden.dtype.element_ty)
    tl.store(hidden + row * SIZE + column, rounded, mask=mask)
    values = rounded.to(tl.float32)
    inverse = tl.rsqrt(tl.sum(values * values, 0) / SIZE + eps)
    values = values * inverse * scale.to(tl.float32)
    tl.store(normed + row * SIZE + column, values.to(normed.dtype.element_ty), mask=mask)


def fits(num_rows: int, weight: Tensor) -> bool:
    """Whether the products here serve `num_rows` rows with `weight`, and should; on the CPU (interpreter) of
    any type."""
    served = weight.dtype in (torch.bfloat16, torch.float16) or weight.device.type == "cpu"
    return served and weight.is_contiguous() and weight.shape[1] % 8 == 0 and pays(num_rows, *weight.shape)


def split_linear(
    x: Tensor, weight: Tensor, *, gated: bool = False, tiling: SplitTiling | None = None
) -> Tensor:
    """x @ weight^T for x [..., K], contiguous, of up to MAX_ROWS rows, and weight [N, K], contiguous.

    gated: weight is [2F, K], gates first; the result is silu(gate) * up, computed in fp32.
    tiling: in place of the one of `split_tiling`; with one part of K.

    Returns: [..., N or F] of the type of x.
    """
    num_outputs = len(weight) // 2 if gated else len(weight)
    out = torch.empty(*x.shape[:-1], num_outputs, dtype=x.dtype, device=x.device)
    num_rows, size = x.numel() // x.shape[-1], x.shape[-1]
    _launch(x, weight, out, gated, tiling or split_tiling(num_rows, num_outputs, size, gated, False))
    return out


def partial_linear(x: Tensor, weight: Tensor, *, tiling: SplitTiling | None = None) -> Tensor:
    """The product as for `split_linear`, not yet summed over parts of K: fp32 [parts, rows, N]."""
    num_rows, size = x.numel() // x.shape[-1], x.shape[-1]
    tiling = tiling or split_tiling(num_rows, len(weight), size, False, True)
    out = torch.empty(tiling.splits, num_rows, len(weight), dtype=torch.float32, device=x.device)
    _launch(x, weight, out, False, tiling)
    return out


def add_and_norm(
    partials: Tensor, residual: Tensor, norm: Tensor, eps: float, alpha: float = 1.0
) -> tuple[Tensor, Tensor]:
    """x = residual + alpha * sum of partials, and x / sqrt(mean(x^2) + eps) * norm.

    partials: fp32 [parts, rows, H], contiguous, added in their order.
    residual: [..., H] of as many rows, evenly spaced, the last stride 1; norm: [H].

    Returns: x, rounded to the type of `residual` and contiguous, and its norm alike.
    """
    parts, num_rows, size = partials.shape
    hidden, normed = (
        torch.empty(residual.shape, dtype=residual.dtype, device=residual.device) for _ in range(2)
    )
    block = triton.next_power_of_2(size)
    add_and_norm_kernel[(num_rows,)](
        partials, residual, norm, hidden, normed, num_rows, alpha, eps, *_rows(residual),
        SIZE=size, PARTS=parts, BLOCK=block, num_warps=min(16, max(1, block // _ELEMENTS_PER_WARP)),
        **launch_options(residual.device),
    )  # fmt: skip
    return hidden, normed


def _launch(x: Tensor, weight: Tensor, out: Tensor, gated: bool, tiling: SplitTiling) -> None:
    size, num_outputs = x.shape[-1], out.shape[-1]
    num_rows = x.numel() // size
    first, second = row_tiles(num_rows)
    steps = triton.cdiv(size, tiling.step * tiling.splits)
    split_linear_kernel[(triton.cdiv(num_outputs, tiling.outputs), tiling.splits)](
        x, weight, out, num_rows,
        N=num_outputs, K=size, PART=steps * tiling.step, BLOCK_M=first, TAIL=second,
        BLOCK_N=tiling.outputs, BLOCK_K=tiling.step, EARLY=min(tiling.early, steps),
        AHEAD=min(tiling.ahead, steps), WARPS=tiling.warps, GATED=gated, FENCE=not INTERPRETED,
        num_warps=tiling.warps, **launch_options(x.device),
    )  # fmt: skip
