"""Linear layers of few rows: y = x W^T, the norm before it and the gate or residual after it, in one kernel.

With up to 64 rows a product is bound by reading the weights, and a chain of products by latency: a layer of
1,024 channels has 30 MB of weights, 7 us at the memory's rate, and as much again goes by between kernels. So:

* Outputs are the long side of a tile (`mma.m16n8`), rows the short one, padded to a multiple of 8.
* The warps of a program share out K, each with its own weights and activations, and add up at the end;
  nothing passes through shared memory before: see `_fragments` for how loads of 16 bytes are the operands.
* A norm costs no pass of its own: x * g goes into the product, the sum of squares of x is taken on the way,
  and 1 / rms scales the result.
* Launched before the kernel that precedes it has ended, a program has its weights under way, and those of the
  kernel that follows on their way into the L2 cache (`upcoming`), by the time its activations are there.

    hidden = skinny_linear(x, qkv, norm=g, eps=1e-5)
    hidden = skinny_linear(x, gate_up, norm=g, eps=1e-5, gated=True)
    skinny_linear(hidden, down, residual=x, out=x)
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.attention.triton_kernels import INTERPRETED
from engine.kernels.launch import launch_options
from engine.kernels.skinny_tiling import Tiling, padded_rows, tiling_for

MAX_ROWS = 64
"""More rows are better served by the matrix library."""


@triton.jit
def _fragments(tile, WARPS: tl.constexpr, EIGHTS: tl.constexpr, CHUNKS: tl.constexpr):
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
def _tile(base, offsets):
    """Addresses with axes ranked for the compiler, which goes by contiguity: lanes and warps are to own what
    `_fragments` says. The hint has to stand beside the only addition to a pointer, or it is lost."""
    return tl.max_contiguous(base + offsets, (8, 4, 2, 1, 1, 16))


@triton.jit
def _weights(base, offsets, mask, MASKED: tl.constexpr):
    if MASKED:
        return tl.load(_tile(base, offsets), mask=mask, other=0.0, eviction_policy="evict_first")
    return tl.load(_tile(base, offsets), eviction_policy="evict_first")


@triton.jit
def _offsets(rows, inner, outer_stride, row_stride):
    """Where rows begin that are spaced evenly in groups of `inner`."""
    return rows // inner * outer_stride + rows % inner * row_stride


@triton.jit
def _load_before_computing():
    """Keeps the assembler from moving loads back to where they are used, one latency after the other."""
    tl.inline_asm_elementwise("fence.acq_rel.cta; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1)


@triton.jit
def _prefetch(start, size, LINES: tl.constexpr, THREADS: tl.constexpr):
    """Has each program bring LINES lines of 128 bytes per thread to the L2 cache; the last ones overlap."""
    program = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    for line in tl.static_range(LINES):
        index = (program * LINES + line) * THREADS + tl.arange(0, THREADS)
        address = start.to(tl.int64) + tl.minimum(index.to(tl.int64) * 128, size - 128)
        tl.inline_asm_elementwise(
            "prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", [address], tl.int32, is_pure=False, pack=1
        )


@triton.jit(
    do_not_specialize=["num_rows", "alpha", "eps", "upcoming_size", "x_inner", "residual_inner", "out_inner"]
)
def skinny_linear_kernel(
    x, weight, norm, bias, residual, out, upcoming, upcoming_size, num_rows, alpha, eps,
    x_inner, x_outer, x_row, residual_inner, residual_outer, residual_row, out_inner, out_outer, out_row,
    N: tl.constexpr, K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    EARLY: tl.constexpr, WARPS: tl.constexpr, NORM: tl.constexpr, GATED: tl.constexpr, BIAS: tl.constexpr,
    RESIDUAL: tl.constexpr, LINES: tl.constexpr, FENCE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (i, j) computes BLOCK_N outputs of BLOCK_M rows, from gate and up alike where GATED.

    The weights of the first EARLY steps of BLOCK_K are loaded before the activations are awaited.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    STEPS: tl.constexpr = (K + BLOCK_K - 1) // BLOCK_K
    SLICE: tl.constexpr = BLOCK_K // WARPS
    CHUNKS: tl.constexpr = SLICE // 32
    MASKED: tl.constexpr = K % BLOCK_K != 0 or N % BLOCK_N != 0
    first_output, first_row = tl.program_id(0) * BLOCK_N, tl.program_id(1) * BLOCK_M
    eight = tl.arange(0, 8)
    k = (
        (tl.arange(0, 4) * 8)[:, None, None, None, None, None]
        + (tl.arange(0, WARPS) * SLICE)[None, None, :, None, None, None]
        + (tl.arange(0, CHUNKS) * 32)[None, None, None, None, :, None]
        + eight[None, None, None, None, None, :]
    )
    row_of_eight = eight[None, :, None, None, None, None]
    output = row_of_eight + (tl.arange(0, BLOCK_N // 8) * 8)[None, None, None, :, None, None]
    row = row_of_eight + (tl.arange(0, BLOCK_M // 8) * 8)[None, None, None, :, None, None] + first_row
    weights = weight + first_output.to(tl.int64) * K
    weights_up = weights + N * K
    weight_offsets = output * K + k
    in_outputs = first_output + output < N
    in_rows = row < num_rows
    input_offsets = _offsets(row, x_inner, x_outer, x_row) + k
    norm_offsets = row_of_eight // 8 * 8 + k  # alike for all rows, which the compiler must not know

    gates, ups, scales = (), (), ()
    for step in tl.static_range(EARLY):
        in_k = step * BLOCK_K + k < K
        gates += (_weights(weights + step * BLOCK_K, weight_offsets, in_outputs & in_k, MASKED),)
        if GATED:
            ups += (_weights(weights_up + step * BLOCK_K, weight_offsets, in_outputs & in_k, MASKED),)
        if NORM:
            scales += (tl.load(_tile(norm + step * BLOCK_K, norm_offsets), mask=in_k, other=0.0),)
    if LINES:
        _prefetch(upcoming, upcoming_size, LINES, WARPS * 32)
    if PDL:
        tl.extra.cuda.gdc_wait()

    product = tl.zeros([WARPS, BLOCK_N, BLOCK_M], tl.float32)
    product_up = tl.zeros([WARPS, BLOCK_N, BLOCK_M], tl.float32)
    squares = tl.zeros([WARPS, BLOCK_M], tl.float32)
    values = tl.load(_tile(x, input_offsets), mask=in_rows & (k < K), other=0.0)
    for step in tl.static_range(STEPS):
        if step >= EARLY:
            in_k = step * BLOCK_K + k < K
            gates += (_weights(weights + step * BLOCK_K, weight_offsets, in_outputs & in_k, MASKED),)
            if GATED:
                ups += (_weights(weights_up + step * BLOCK_K, weight_offsets, in_outputs & in_k, MASKED),)
            if NORM:
                scales += (tl.load(_tile(norm + step * BLOCK_K, norm_offsets), mask=in_k, other=0.0),)
        current = values
        if step + 1 < STEPS:
            in_k = (step + 1) * BLOCK_K + k < K
            values = tl.load(_tile(x + (step + 1) * BLOCK_K, input_offsets), mask=in_rows & in_k, other=0.0)
        if step == 0 and FENCE:
            _load_before_computing()
        if NORM:
            single = current.to(tl.float32)
            squares += tl.sum(_fragments(single * single, WARPS, BLOCK_M // 8, CHUNKS), 2)
            current *= scales[step]
        operand = tl.trans(_fragments(current, WARPS, BLOCK_M // 8, CHUNKS), (0, 2, 1))
        tile = _fragments(gates[step], WARPS, BLOCK_N // 8, CHUNKS)
        product = tl.dot(tile, operand, product, input_precision="ieee")
        if GATED:
            tile = _fragments(ups[step], WARPS, BLOCK_N // 8, CHUNKS)
            product_up = tl.dot(tile, operand, product_up, input_precision="ieee")

    rows, outputs = first_row + tl.arange(0, BLOCK_M), first_output + tl.arange(0, BLOCK_N)
    mask = (rows < num_rows)[None, :] & (outputs < N)[:, None]
    result = tl.sum(product, 0)
    if NORM:
        inverse = tl.rsqrt(tl.sum(squares, 0) / K + eps)[None, :]
        result *= inverse
    if BIAS:
        result += tl.load(bias + outputs, mask=outputs < N, other=0.0).to(tl.float32)[:, None]
    if GATED:
        up = tl.sum(product_up, 0)
        if NORM:
            up *= inverse
        if BIAS:
            up += tl.load(bias + N + outputs, mask=outputs < N, other=0.0).to(tl.float32)[:, None]
        result = result / (1.0 + tl.exp(-result)) * up
    if RESIDUAL:
        beside = _offsets(rows, residual_inner, residual_outer, residual_row)[None, :] + outputs[:, None]
        result = tl.load(residual + beside, mask=mask, other=0.0).to(tl.float32) + alpha * result
    target = out + _offsets(rows, out_inner, out_outer, out_row)[None, :] + outputs[:, None]
    tl.store(target, result.to(out.dtype.element_ty), mask=mask)


def fits(rows: int, weight: Tensor) -> bool:
    """Whether `skinny_linear` serves `rows` rows of activations with `weight`, and should.

    On the CPU, where the interpreter runs it for tests, the type is free.
    """
    served = weight.dtype in (torch.bfloat16, torch.float16) or weight.device.type == "cpu"
    return served and weight.is_contiguous() and rows <= MAX_ROWS and weight.shape[1] % 8 == 0


def skinny_linear(
    x: Tensor,
    weight: Tensor,
    *,
    norm: Tensor | None = None,
    eps: float = 1e-5,
    bias: Tensor | None = None,
    gated: bool = False,
    residual: Tensor | None = None,
    alpha: float = 1.0,
    out: Tensor | None = None,
    upcoming: Tensor | None = None,
    tiling: Tiling | None = None,
) -> Tensor:
    """residual + alpha * f(rms_norm(x) @ weight^T + bias); sums are fp32, the result is rounded once.

    Args:
        x: [..., K], whose last stride is 1.
        weight: [N, K] contiguous; with `gated` [2F, K], gates first, and N below stands for F.
        norm: [K], weight of an RMS norm of x with `eps`; None for none. x * norm is rounded to the type of x.
        gated: f is silu(gate) * up, otherwise the identity.
        residual: [..., N] as x; may be `out`.
        out: [..., N], by default a new tensor.
        upcoming: contiguous weight of the product that follows on the stream, to be fetched meanwhile.
        tiling: in place of the one of `tiling_for`.

    Returns: `out`, of the type of x.
    """
    num_outputs, size = len(weight) // 2 if gated else len(weight), weight.shape[1]
    if out is None:
        out = torch.empty(*x.shape[:-1], num_outputs, dtype=x.dtype, device=x.device)
    num_rows = x.numel() // size
    tiling = tiling or tiling_for(num_rows, num_outputs, size, gated)
    block_m = padded_rows(num_rows)
    grid = (triton.cdiv(num_outputs, tiling.outputs), triton.cdiv(num_rows, block_m))
    options = launch_options(x.device)
    lines = 0
    if upcoming is not None and options["PDL"]:
        lines = _lines(upcoming, grid[0] * grid[1] * tiling.warps * 32)
    skinny_linear_kernel[grid](
        x, weight, norm, bias, residual, out, upcoming, 0 if upcoming is None else upcoming.nbytes,
        num_rows, alpha, eps, *_rows(x), *_rows(out if residual is None else residual), *_rows(out),
        N=num_outputs, K=size, BLOCK_M=block_m, BLOCK_N=tiling.outputs, BLOCK_K=tiling.step,
        EARLY=min(tiling.early, triton.cdiv(size, tiling.step)), WARPS=tiling.warps, NORM=norm is not None,
        GATED=gated, BIAS=bias is not None, RESIDUAL=residual is not None, LINES=lines, FENCE=not INTERPRETED,
        num_warps=tiling.warps, **options,
    )  # fmt: skip
    return out


def _lines(upcoming: Tensor, num_threads: int) -> int:
    """Lines of 128 bytes that each thread fetches."""
    return triton.cdiv(upcoming.nbytes, 128 * num_threads) if upcoming.nbytes >= 128 else 0


def _rows(tensor: Tensor) -> tuple[int, int, int]:
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
