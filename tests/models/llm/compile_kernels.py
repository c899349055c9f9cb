"""Compiles the kernels that draw tokens for compute capability 9.0, which needs no GPU; a line per kernel.

    python -m tests.models.llm.compile_kernels

The interpreter has to be off (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from models.llm.programs import kernels
from models.llm.programs.tables import COLUMNS, FIELDS

HOPPER = GPUTarget("cuda", 90, 32)
TYPES = {
    "logits": "*bf16", "adjusted": "*fp32", "thresholds": "*fp32", "floats": "*fp32", "maxima": "*fp32",
    "sums": "*fp64", "seeds": "*i64", "slots": "*i64", "indices": "*i64", "tokens": "*i64",
}  # fmt: skip
V, BLOCKS = 151936, 75
ROW = {"V": V, "COLUMNS": COLUMNS}
WHOLE = {"FIRST_TOKEN": 0, "FIRST_BLOCK": 0}
CELLS = {"maxima": "*fp64", "places": "*i64", "out": "*i64"}
"""Of several ranks."""


def compile_kernel(
    kernel: Any, constants: dict[str, Any], other: dict[str, str] | None = None, **options: int
) -> None:
    names, types_of = kernel.arg_names, TYPES | (other or {})
    types = {name: "constexpr" if name in constants else types_of.get(name, "*i32") for name in names}
    values = {(names.index(name),): value for name, value in constants.items()}
    compiled = triton.compile(ASTSource(kernel, types, values), target=HOPPER, options=options)
    print(kernel.__name__, compiled.metadata.shared, "bytes of shared memory")


def main() -> None:
    compile_kernel(kernels.adjust_kernel, {**ROW, "BLOCK": 2048})
    compile_kernel(
        kernels.rules_kernel, {"V": V, "RULES": kernels.RULES, "FIELDS": FIELDS, "PREFIX": kernels.PREFIX}
    )
    compile_kernel(kernels.threshold_kernel, {**ROW, "BLOCK": 8192}, num_warps=16)
    choice = {**ROW, "BLOCK": 2048, "BLOCKS": BLOCKS, "ROOM": 128, "PREFIX": kernels.PREFIX, "OUT": 1}
    sums = {**ROW, "BLOCK": 2048, "BLOCKS": BLOCKS, **WHOLE}
    choice |= WHOLE | {"OWN_BLOCKS": BLOCKS}
    for thresholds in ({}, {"thresholds": None}):
        compile_kernel(kernels.block_kernel, {**sums, **thresholds})
        compile_kernel(kernels.choose_kernel, {**choice, "LEARNS": not thresholds, **thresholds}, num_warps=8)
    half = {"V": V // 2, "FIRST_TOKEN": V // 2, "FIRST_BLOCK": 38, "BLOCKS": 76, "thresholds": None}
    compile_kernel(kernels.block_kernel, sums | half, CELLS)
    compile_kernel(
        kernels.choose_kernel, choice | half | {"LEARNS": False, "OWN_BLOCKS": 38}, CELLS, num_warps=8
    )


if __name__ == "__main__":
    main()
