"""Compiles the products of few rows for compute capability 9.0 at the sizes of VoxCPM2, which needs no GPU.

    python -m tests.engine.kernels.compile_skinny

A line of JSON per kernel: 16-byte loads before the kernel waits, stores before it waits, exchanges through
shared memory before the first product of tiles. The interpreter has to be off
(TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

import json
import re

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.kernels.skinny_linear import skinny_linear_kernel
from engine.kernels.skinny_tiling import padded_rows, tiling_for

HOPPER = GPUTarget("cuda", 90, 32)
POINTERS = {"x", "weight", "norm", "bias", "residual", "out", "upcoming"}
SCALARS = {"alpha": "fp32", "eps": "fp32"}
ALIGNED = POINTERS | {"x_outer", "x_row", "residual_outer", "residual_row", "out_outer", "out_row"}
PRODUCTS = [  # outputs, inputs, norm, gate
    (2560, 1024, True, False),
    (1024, 2048, False, False),
    (4096, 1024, True, True),
    (1024, 4096, False, False),
    (2560, 2048, True, False),
    (6144, 2048, True, True),
    (2048, 6144, False, False),
]


def compile_product(rows: int, outputs: int, size: int, norm: bool, gated: bool) -> dict[str, int]:
    tiling = tiling_for(rows, outputs, size, gated)
    constants = {
        "N": outputs, "K": size, "BLOCK_M": padded_rows(rows), "BLOCK_N": tiling.outputs,
        "BLOCK_K": tiling.step, "EARLY": tiling.early, "WARPS": tiling.warps, "NORM": norm, "GATED": gated,
        "BIAS": False, "RESIDUAL": not norm, "LINES": 2, "FENCE": True, "PDL": True, "bias": None,
        "residual" if norm else "norm": None,
    }  # fmt: skip
    names = skinny_linear_kernel.arg_names

    def type_of(name: str) -> str:
        return "constexpr" if name in constants else "*bf16" if name in POINTERS else SCALARS.get(name, "i32")

    source = ASTSource(
        skinny_linear_kernel,
        {name: type_of(name) for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in ALIGNED - constants.keys()},
    )
    compiled = triton.compile(source, target=HOPPER, options={"num_warps": tiling.warps, "launch_pdl": True})
    code = compiled.asm["ptx"]
    before, _, _ = code.partition("griddepcontrol.wait")
    loading, _, _ = code.partition("mma.sync")
    return {
        "wide_loads_before": len(re.findall(r"ld\.global\S*\.v4\.b32", before)),
        "narrow_loads_before": len(re.findall(r"ld\.global(?!\S*\.v4\.b32)", before)),
        "stores_before": before.count("st.global"),
        "exchanges": len(re.findall(r"st\.shared|ldmatrix|shfl\.sync\.idx", loading)),
    }


def main() -> None:
    for rows in (1, 16, 22, 44):
        for product in PRODUCTS:
            print(json.dumps(compile_product(rows, *product)), flush=True)


if __name__ == "__main__":
    main()
