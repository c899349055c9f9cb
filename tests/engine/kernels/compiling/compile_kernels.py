"""Compiles the fused kernels for compute capability 9.0 at the sizes of VoxCPM2, which needs no GPU.

    python -m tests.engine.kernels.compiling.compile_kernels

A line per kernel: its name, whether it waits for the kernel before it, and what it stores before that. The
interpreter has to be off (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.kernels.activation import silu_mul_kernel
from engine.kernels.linear.tiled_linear import tiled_linear_kernel
from engine.kernels.linear.tilings import DEEP, SQUARE, WIDE
from engine.kernels.low_rank.around_kernels import expand_kernel, shrink_kernel
from engine.kernels.low_rank.delta import NO_DELTA
from engine.kernels.norms.add_and_norm import add_and_norm_kernel
from engine.kernels.norms.norm import rms_norm_kernel
from engine.kernels.rotary import rotary_kernel
from engine.kernels.row_attention import NO_DOWN, row_attention_kernel
from models.voxcpm.fused.flow_kernels import flow_step_kernel

HOPPER = GPUTarget("cuda", 90, 32)
SCALARS = {"eps": "fp32", "scale": "fp32", "step_size": "fp32", "row_stride": "i32", "token_stride": "i32"}
SCALARS |= {"inner": "i32", "outer_stride": "i32"}
TURNS = {"turns": "*i32", "slot_stride": "i32", "num_entries": "i32", "num_turns": "i32", "alpha": "fp32"}
LOW_RANK = {"RANK": 32, "REPEAT": 11, "BRANCHES": 2, "BLOCK_M": 32, "PARTS": 3}
ROWS = {"KV_HEADS": 2, "GROUP": 8, "HALF": 64, "ROTARY": True, "BLOCK_L": 16, "BLOCK_HALF": 64, "FENCE": True}
FLOW = {
    "PATCH": 4, "DIM": 64, "HIDDEN": 1024, "LENGTH": 11, "PLACE": 7, "HEAD_PLACE": 2, "BRANCHES": 2,
    "STREAMS": 4, "BLOCK_R": 16, "BLOCK_S": 4, "BLOCK_D": 64, "BLOCK_H": 64,
}  # fmt: skip


def compile_kernel(
    kernel: Any,
    constants: dict[str, Any],
    single: frozenset[str] = frozenset(),
    num_warps: int = 4,
    num_stages: int = 3,
    types: Mapping[str, str] | None = None,
) -> None:
    """Compiles for bf16 tensors; those named in `single` are fp32, others of `types`."""
    constants = {**constants, "PDL": True}
    types = {"num_rows": "i32", **SCALARS, **TURNS, **(types or {})}

    def type_of(name: str) -> str:
        if name in constants:
            return "constexpr"
        return types.get(name) or ("*fp32" if name in single | {"cos", "sin"} else "*bf16")

    names = kernel.arg_names
    values = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, {name: type_of(name) for name in names}, values)
    options = {"launch_pdl": True, "num_warps": num_warps, "num_stages": num_stages}
    code = triton.compile(source, target=HOPPER, options=options).asm["ptx"]
    before, wait, _ = code.partition("griddepcontrol.wait")
    print(kernel.__name__, "waits" if wait else "does not wait", before.count("st.global"), "stores before")


def main() -> None:
    for size in (1024, 2048):
        compile_kernel(rms_norm_kernel, {"SIZE": size, "BLOCK": size})
    for delta in (NO_DELTA, {"REPEAT": 11}):
        compile_kernel(silu_mul_kernel, {"SIZE": 4096, "BLOCK": 1024, "ASSEMBLY": True, **delta})
        norm = {"SIZE": 1024, "PARTS": 2, "BLOCK": 1024, **delta}
        compile_kernel(add_and_norm_kernel, norm, frozenset({"partials"}))
    compile_kernel(
        rotary_kernel, {"HEADS": 18, "QUERIES": 16, "HALF": 64, "BLOCK_HEADS": 8, "BLOCK_HALF": 64}
    )
    for length, first, kept, block, tiles, of_programs in (
        (11, 0, 11, 16, 8, (1, 8)),
        (11, 7, 4, 4, 2, (1, 2)),
        (5, 0, 5, 8, 4, (1, 4)),
        (5, 0, 1, 1, 1, (1,)),
    ):
        for per_program in of_programs:
            parts = {"PARTS": tiles // per_program, "TILES": per_program, "BLOCK_Q": block}
            row = {"LENGTH": length, "FIRST": first, "KEPT": kept, **parts}
            compile_kernel(row_attention_kernel, {**ROWS, **row, **NO_DOWN}, num_warps=1)
            if block == 16:
                adapted = {**ROWS, **row, "RANK": 32, "ENTRY_ROWS": 32}
                compile_kernel(row_attention_kernel, adapted, frozenset({"hidden"}), num_warps=1)
    for mixed in (False, True):
        rows = LOW_RANK | ({"REPEAT": 1, "BRANCHES": 1, "BLOCK_M": 64} if mixed else {}) | {"MIXED": mixed}
        hidden, outputs = frozenset({"hidden"}), {"N": 2560, "FIRST": 2048, "OTHER": 256}
        compile_kernel(shrink_kernel, {**rows, "K": 1024, "INPUTS": 256}, hidden)
        outputs |= {"SPLITS": 4, "BLOCK_N": 64, "BLOCKS": 40}
        for add in (False, True):
            compile_kernel(expand_kernel, {**rows, **outputs, "ADD": add}, hidden)
    for tiling, gated in ((SQUARE, True), (WIDE, True), (DEEP, False)):
        tile = {"BLOCK_M": tiling.rows, "BLOCK_N": tiling.outputs, "BLOCK_K": tiling.inputs, "GATED": gated}
        of_weight = f"{'2, ' if gated else ''}{tiling.outputs}, {tiling.inputs}"
        blocks = {"x": f"{tiling.rows}, {tiling.inputs}", "weight": of_weight}
        blocks["out"] = f"{tiling.rows}, {tiling.outputs}"
        types = {name: f"tensordesc<bf16[{block}]>" for name, block in blocks.items()}
        options = {"num_warps": tiling.warps, "num_stages": tiling.stages, "types": types}
        compile_kernel(
            tiled_linear_kernel, {"SIZE": 1024, "OUTPUTS": 4096, "ASSEMBLY": True, **tile}, **options
        )
    single = frozenset({"x", "out", "cfg_values"})
    last = dict.fromkeys(("tokens", "weight", "bias", "head", "head_shift"))
    compile_kernel(flow_step_kernel, {**FLOW, "head_shift": None}, single)
    compile_kernel(flow_step_kernel, {**FLOW, **last}, single)
    placing = dict.fromkeys(("velocity", "cfg_values", "out", "head_shift"))
    compile_kernel(flow_step_kernel, {**FLOW, **placing})


if __name__ == "__main__":
    main()
