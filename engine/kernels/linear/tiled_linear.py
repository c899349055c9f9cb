"""Linear layers of many rows by a kernel of our own, with the gate in it where there is one.

    gated = tiled_linear(normed, gate_up, tiling, gated=True)    # [..., K], [2F, K], gates first -> [..., F]

The matrix library writes both halves of [rows, 2F], and a kernel behind it reads them again to gate them.
Here a program has the same outputs of both halves in its registers, and writes what comes of them. Without a
gate it gains in steps of few streams, since it is launched before the kernel in front of it has ended.

Programs, one for each processor, stay on the device and take tile after tile. The memory engine (TMA) brings
operands while others are multiplied. It needs compute capability 9.0. `tilings` tells for which rows it pays.
Sums are those of the matrix library, bit by bit, in all sizes that were compared on an H200.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from engine.kernels.activation import silu
from engine.kernels.launch import ASSEMBLY, kernel_on, launch_options
from engine.kernels.linear.spare_rows import empty_with_spare
from engine.kernels.linear.tilings import Tiling

CAPABILITY = (9, 0)


@triton.jit
def _rounded(gate, up, TYPE: tl.constexpr, ASSEMBLY: tl.constexpr):
    """Two fp32 values as they are in memory. Rounded one by one they would take as long as the gate does."""
    if ASSEMBLY and tl.bfloat16 == TYPE:
        return tl.inline_asm_elementwise(
            """{
            .reg .b32 both;
            cvt.rn.bf16x2.f32 both, $2, $3;
            and.b32 $0, both, 0xFFFF0000;
            shl.b32 $1, both, 16;
            }""",
            "=r,=r,f,f", [gate, up], (tl.float32, tl.float32), is_pure=True, pack=1,
        )  # fmt: skip
    return gate.to(TYPE).to(tl.float32), up.to(TYPE).to(tl.float32)


@triton.jit(do_not_specialize=["num_rows"])
def tiled_linear_kernel(
    x, weight, out, num_rows,
    SIZE: tl.constexpr, OUTPUTS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, GATED: tl.constexpr, ASSEMBLY: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Programs take turns at tiles of BLOCK_M rows and BLOCK_N outputs. Those of the same outputs follow each
    other, so that weights are in the cache.

    Descriptors of x [rows, SIZE], out [rows, OUTPUTS] and weight [OUTPUTS, SIZE], where it is GATED
    [2, OUTPUTS, SIZE]. Gate and up are rounded to the type of x before the gate, as they would be in memory.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    num_m = tl.cdiv(num_rows, BLOCK_M)
    WIDTH: tl.constexpr = 2 * BLOCK_N if GATED else BLOCK_N
    for tile in tl.range(tl.program_id(0), num_m * (OUTPUTS // BLOCK_N), tl.num_programs(0), flatten=True):
        row, output = tile % num_m * BLOCK_M, tile // num_m * BLOCK_N
        total = tl.zeros([BLOCK_M, WIDTH], tl.float32)
        for step in range(SIZE // BLOCK_K):
            values = x.load([row, step * BLOCK_K])
            if GATED:
                lines = tl.reshape(weight.load([0, output, step * BLOCK_K]), [WIDTH, BLOCK_K])
            else:
                lines = weight.load([output, step * BLOCK_K])
            total = tl.dot(values, lines.T, total, input_precision="ieee")
        if GATED:
            gate, up = tl.split(tl.permute(tl.reshape(total, [BLOCK_M, 2, BLOCK_N]), (0, 2, 1)))
            gate, up = _rounded(gate, up, x.dtype, ASSEMBLY)
            total = silu(gate, ASSEMBLY) * up
        out.store([row, output], total.to(x.dtype))


def serves(x: Tensor, weight: Tensor) -> bool:
    """Whether the kernel may go about them: contiguous bf16 on a device of the kind it was measured on."""
    kinds = x.dtype == weight.dtype == torch.bfloat16 and x.is_contiguous() and weight.is_contiguous()
    return kinds and x.is_cuda and torch.cuda.get_device_capability(x.device) == CAPABILITY


def tiled_linear(x: Tensor, weight: Tensor, tiling: Tiling, gated: bool = False) -> Tensor:
    """x W^T of contiguous x [..., K] and weight [N, K] -> [..., N], with rows to spare (`spare_rows`).

    gated: weight is [2F, K], gates first; the result is silu(gate) * up, [..., F].
    Raises ValueError for sizes that tiles do not divide.
    """
    parts = (2,) if gated else ()
    (outputs, size), num_rows = (len(weight) // (1 + gated), weight.shape[1]), x.numel() // x.shape[-1]
    if outputs % tiling.outputs or size % tiling.inputs:
        raise ValueError(f"{outputs} outputs and {size} inputs are not whole tiles of {tiling}")
    out = empty_with_spare((*x.shape[:-1], outputs), x)
    tiles = triton.cdiv(num_rows, tiling.rows) * (outputs // tiling.outputs)
    kernel_on(x.device, tiled_linear_kernel)[(min(tiles, _processors(x.device)),)](
        _described(x.view(num_rows, size), tiling.rows, tiling.inputs),
        _described(weight.view(*parts, outputs, size), *parts, tiling.outputs, tiling.inputs),
        _described(out.view(num_rows, outputs), tiling.rows, tiling.outputs), num_rows,
        SIZE=size, OUTPUTS=outputs, BLOCK_M=tiling.rows, BLOCK_N=tiling.outputs, BLOCK_K=tiling.inputs,
        GATED=gated, ASSEMBLY=ASSEMBLY, num_warps=tiling.warps, num_stages=tiling.stages,
        **launch_options(x.device),
    )  # fmt: skip
    return out


def _described(tensor: Tensor, *block: int) -> TensorDescriptor:
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), list(block))


@cache
def _processors(device: torch.device) -> int:
    if device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(device).multi_processor_count
