"""The gate of a gated MLP in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import ASSEMBLY, kernel_on, launch_options
from engine.kernels.linear.spare_rows import empty_with_spare
from engine.kernels.low_rank.delta import NO_DELTA, Delta, has_adapter

_BLOCK = 1024


@triton.jit
def silu(x, ASSEMBLY: tl.constexpr):
    """x * sigmoid(x) of fp32, in five instructions: a product that gates its result waits for them."""
    if ASSEMBLY:
        return tl.inline_asm_elementwise(
            """{
            .reg .f32 e;
            mul.f32 e, $1, 0fBFB8AA3B;
            ex2.approx.ftz.f32 e, e;
            add.f32 e, e, 0f3F800000;
            rcp.approx.ftz.f32 e, e;
            mul.f32 $0, $1, e;
            }""",
            "=f,f", [x], tl.float32, is_pure=True, pack=1,
        )  # fmt: skip
    return x / (1.0 + tl.exp(-x))


@triton.jit(do_not_specialize=["num_entries"])
def silu_mul_kernel(
    gate_up, out, delta, turns, num_entries,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, REPEAT: tl.constexpr, ASSEMBLY: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    """Program (row, block) gates BLOCK elements of a row. With a REPEAT, rows of entries with an adapter have
    something more in `delta`."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < SIZE
    source = gate_up + row * 2 * SIZE + column
    if REPEAT:
        adapted = has_adapter(turns, tl.program_id(0), num_entries, REPEAT)
    if PDL:
        tl.extra.cuda.gdc_wait()
    gate = tl.load(source, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(source + SIZE, mask=mask, other=0.0).to(tl.float32)
    if REPEAT:
        more = delta + row * 2 * SIZE + column
        gate += tl.load(more, mask=mask & adapted, other=0.0).to(tl.float32)
        up += tl.load(more + SIZE, mask=mask & adapted, other=0.0).to(tl.float32)
    tl.store(out + row * SIZE + column, (silu(gate, ASSEMBLY) * up).to(out.dtype.element_ty), mask=mask)


def silu_mul(gate_up: Tensor, delta: Delta | None = None) -> Tensor:
    """silu(gate) * up, computed in fp32: gate_up [T, 2F], contiguous, gates first -> [T, F].

    delta: what adapters add to gate_up.
    """
    num_rows, size = len(gate_up), gate_up.shape[1] // 2
    out = empty_with_spare((num_rows, size), gate_up)
    block = min(_BLOCK, triton.next_power_of_2(size))
    blocks = triton.cdiv(size, block)
    kernel_on(gate_up.device, silu_mul_kernel)[(num_rows, blocks)](
        gate_up,
        out,
        **(NO_DELTA if delta is None else delta.told()),
        SIZE=size,
        BLOCK=block,
        ASSEMBLY=ASSEMBLY,
        **launch_options(gate_up.device, num_rows * blocks),
    )
    return out
