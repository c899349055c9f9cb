"""Compiles every Triton kernel for compute capability 9.0, which needs no GPU; prints a line per kernel.

    python -m tests.engine.attention.compile_kernels

The interpreter runs kernels as NumPy code and so accepts what the compiler would refuse. It has to be off
here (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.attention.triton_backend import decodes, kernels, prompts

HOPPER = GPUTarget("cuda", 90, 32)
LAYOUT = {"BLOCK_SIZE": 16, "KV_HEADS": 2, "GROUP": 8, "HEAD_DIM": 128, "BLOCK_N": 64, "BLOCK_D": 128}
DECODE = {
    "BLOCK_SIZE": 16, "KV_HEADS": 2, "GROUP": 8, "HALF": 64, "BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_HALF": 64,
    "FENCE": True, "PDL": True, "AHEAD": True,
}  # fmt: skip
WARP = {"num_warps": 1, "num_stages": 1}
INTS = {"tables", "contexts", "cu_queries", "cu_contexts", "slots", "tiles"}
POINTERS = INTS | {
    "q", "k", "v", "cache", "out", "partial", "partial_lse", "cos", "sin", "q_norm", "k_norm"
}  # fmt: skip
WITHOUT_NORMS = {"q_norm": None, "k_norm": None}


def compile_kernel(
    kernel: Any,
    constants: dict[str, Any],
    single: tuple[str, ...] = (),
    described: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Compiles for bf16 inputs; the pointers named in `single` are fp32, those in `described` descriptors."""

    def type_of(name: str) -> str:
        if name in constants:
            return "constexpr"
        if described and name in described:
            return described[name]
        if name in POINTERS:
            return "*i32" if name in INTS else "*fp32" if name in single else "*bf16"
        return "fp32" if name in ("scale", "eps") else "i32"

    names = kernel.arg_names
    values = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, {name: type_of(name) for name in names}, values)
    early = constants.get("PDL", False)
    options |= {"launch_pdl": early, **WARP} if early else {}
    compiled = triton.compile(source, target=HOPPER, options=options)
    before, wait, _ = compiled.asm["ptx"].partition("griddepcontrol.wait")
    assert not early or (wait and "st.global" not in before), "writes before it waits"
    print(kernel.__name__, constants.get("SPLITS", ""), compiled.metadata.shared, "bytes of shared memory")


def main() -> None:
    operand = {"OPERAND": tl.bfloat16}
    single = ("cos", "sin", "partial", "partial_lse")
    compile_kernel(kernels.store_kernel, {"KV_HEADS": 2, "HEAD_DIM": 128, "BLOCK": 256}, single)
    for splits in (1, 16):
        constants = {**DECODE, **operand, "SPLITS": splits}
        fp32 = single if splits > 1 else single[:2]
        compile_kernel(decodes.decode_kernel, {**constants, **WITHOUT_NORMS}, fp32)
        compile_kernel(decodes.decode_kernel, constants, fp32)
    combine = {"HEADS": 16, "HEAD_DIM": 128, "SPLITS": 16, "BLOCK_N": 32, "BLOCK_D": 128, "COMBINED": 8}
    compile_kernel(decodes.combine_kernel, {**combine, "PDL": True}, single)
    prefill = {**LAYOUT, **operand, "BLOCK_Q": 8, "BLOCK_M": 64, "BLOCK_R": 4}
    compile_kernel(kernels.prefill_kernel, prefill, single)
    for head_dim in prompts.HEAD_DIMS:
        compile_prompts(prompts.LAUNCH, head_dim)


def compile_prompts(launch: prompts.Launch, head_dim: int) -> None:
    tile = f"tensordesc<bf16[{launch.keys},{head_dim}]>"
    compile_kernel(
        prompts.prompts_kernel,
        {
            "GROUP": 4, "HEAD_DIM": head_dim, "BLOCK_M": launch.queries, "BLOCK_N": launch.keys,
            "DESCRIPTORS": launch.descriptors,
        },
        described={"k": tile, "v": tile} if launch.descriptors else None,
        num_warps=launch.warps,
        num_stages=launch.stages,
    )  # fmt: skip


if __name__ == "__main__":
    main()
