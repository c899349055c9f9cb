"""Compiles the kernels of `split_linear` for compute capability 9.0 at the sizes of VoxCPM2, without a GPU.

    python -m tests.engine.kernels.compiling.compile_split

A line of JSON per kernel: 16-byte loads before the kernel waits, stores before it waits, exchanges through
shared memory before the first product of tiles, bytes spilled per thread. The interpreter has to be off
(TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.kernels.linear.split_kernel import split_linear_kernel
from engine.kernels.linear.split_linear import constants
from engine.kernels.linear.split_tiling import split_tiling
from engine.kernels.low_rank.delta import NO_DELTA
from engine.kernels.norms.add_and_norm import add_and_norm_kernel
from engine.kernels.norms.exchange import ROW_BYTES, exchange_kernel

HOPPER = GPUTarget("cuda", 90, 32)
UNALIGNED = {"num_rows", "num_entries", "inner", "alpha", "eps"}
PRODUCTS = [  # outputs, inputs, gate, split
    (2560, 1024, False, False),
    (1024, 2048, False, True),
    (4096, 1024, True, False),
    (1024, 4096, False, True),
]
LONG_PRODUCTS = [
    (2560, 2048, False, False),
    (2048, 2048, False, True),
    (6144, 2048, True, False),
    (2048, 6144, False, True),
]


def compile_kernel(
    kernel: Any, types: dict[str, str], constants: dict[str, Any], warps: int
) -> dict[str, Any]:
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        {name: types.get(name, "constexpr") for name in names},
        {(names.index(name),): value for name, value in constants.items()},
        {(names.index(name),): [["tt.divisibility", 16]] for name in types if name not in UNALIGNED},
    )
    options = {"num_warps": warps, "num_stages": 1, "launch_pdl": True}
    compiled = triton.compile(source, target=HOPPER, options=options)
    code = compiled.asm["ptx"]
    before, _, _ = code.partition("griddepcontrol.wait")
    loading, _, _ = code.partition("mma.sync")
    return {
        "wide_loads_before": len(re.findall(r"ld\.global\S*\.v4\.b32", before)),
        "narrow_loads_before": len(re.findall(r"ld\.global(?!\S*\.v4\.b32)", before)),
        "stores_before": before.count("st.global"),
        "exchanges": len(re.findall(r"st\.shared|ldmatrix|shfl\.sync\.idx", loading)),
        "spilled": stack_bytes(compiled.asm["cubin"]),
    }


def stack_bytes(cubin: bytes) -> int:
    """Bytes of stack of the kernel in `cubin`, which only spilled registers need."""
    tool = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "cuobjdump")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        usage = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True)
    return max(int(size) for size in re.findall(r"STACK:(\d+)", usage.stdout))


def compile_product(rows: int, outputs: int, size: int, gated: bool, split: bool) -> dict[str, Any]:
    tiling = split_tiling(rows, outputs, size, gated, split)
    fixed = constants(rows, outputs, size, gated, tiling) | {"bias": None, "FENCE": True, "PDL": True}
    types = {"x": "*bf16", "weight": "*bf16", "out": "*fp32" if split else "*bf16", "num_rows": "i32"}
    return {"kernel": "split_linear", **compile_kernel(split_linear_kernel, types, fixed, tiling.warps)}


def compile_adding(
    rows: int, outputs: int, size: int, gated: bool, split: bool, entries: int = 1
) -> dict[str, Any]:
    """A product that adds what adapters do: of 22 rows of a flow for each entry, or a position of a text."""
    tiling, parts = split_tiling(rows, outputs, size, gated, split), 1 + gated
    fixed = constants(rows, outputs, size, gated, tiling) | {"bias": None, "FENCE": True, "PDL": True}
    fixed |= {"ENTRIES": entries, "RANK": 32, "PARTS": parts, "FIRST": outputs, "OTHER": outputs}
    fixed |= {"REPEAT": max(1, rows // entries // 2), "BRANCHES": min(2, rows // entries)}
    fixed |= {"ENTRY_ROWS": 32 if rows > entries else 16}
    fixed |= {"INPUTS": 512, "ITEMS": entries * parts * size // 512}
    types = {"x": "*bf16", "weight": "*bf16", "out": "*fp32" if split else "*bf16", "num_rows": "i32"}
    types |= {"down": "*bf16", "up": "*bf16", "hidden": "*i32", "turns": "*i32", "slot_stride": "i32"}
    types |= {"num_entries": "i32"}
    return {"kernel": "adding", **compile_kernel(split_linear_kernel, types, fixed, tiling.warps)}


def compile_sum(size: int, parts: int) -> dict[str, Any]:
    types = dict.fromkeys(("residual", "norm", "hidden", "normed"), "*bf16")
    types |= dict.fromkeys(("num_rows", "inner", "outer_stride", "row_stride"), "i32")
    types |= {"partials": "*fp32", "alpha": "fp32", "eps": "fp32"}
    constants = {"SIZE": size, "PARTS": parts, "BLOCK": size, "PDL": True} | NO_DELTA
    return {"kernel": "add_and_norm", **compile_kernel(add_and_norm_kernel, types, constants, size // 256)}


def compile_exchange(size: int, parts: int, wire: Any) -> dict[str, Any]:
    types = dict.fromkeys(("residual", "norm", "hidden", "normed"), "*bf16")
    types |= dict.fromkeys(("rank", "num_rows", "inner", "outer_stride", "row_stride"), "i32")
    types |= {"alpha": "fp32", "eps": "fp32", "addresses": "*i64", "numbers": "*i64"}
    types["partials"] = "*fp32" if wire is tl.float32 else "*bf16"
    constants = {"SIZE": size, "PARTS": parts, "BLOCK": size, "RANKS": 2, "ROOM": 2048, "PLACE": ROW_BYTES}
    constants |= {"WIRE": wire, "SUM": tl.float32, "NORM": True, "PDL": True}
    return {"kernel": "exchange", **compile_kernel(exchange_kernel, types, constants, size // 256)}


def main() -> None:
    for rows in (5, 16, 22, 44):
        for product in PRODUCTS:
            print(json.dumps(compile_product(rows, *product)), flush=True)
    for product in LONG_PRODUCTS:
        print(json.dumps(compile_product(1, *product)), flush=True)
    for product in PRODUCTS:
        print(json.dumps(compile_adding(22, *product)), flush=True)
        print(json.dumps(compile_adding(44, *product, entries=2)), flush=True)
    print(json.dumps(compile_adding(1, 6144, 2048, True, False)), flush=True)
    for size, parts in ((1024, 4), (2048, 2)):
        print(json.dumps(compile_sum(size, parts)), flush=True)
    for parts, wire in ((4, tl.float32), (1, tl.bfloat16)):
        print(json.dumps(compile_exchange(4096, parts, wire)), flush=True)


if __name__ == "__main__":
    main()
