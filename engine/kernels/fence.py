"""When a kernel loads: a fence that keeps loads together, and fetching ahead."""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.launch import ASSEMBLY

FENCE = ASSEMBLY
"""What kernels pass on as their constant FENCE."""


@triton.jit
def load_before_computing():
    """Keeps the assembler, which spares registers, from moving loads to where they are used, one latency
    after the other: those above it are all under way before anything below it waits for one."""
    tl.inline_asm_elementwise("fence.acq_rel.cta; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1)


@triton.jit
def fetch(pointers):
    """Begins to bring what they point to into the L2 cache."""
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.b32 $0, 0;", "=r,l", [pointers], tl.int32, is_pure=False, pack=1
    )
