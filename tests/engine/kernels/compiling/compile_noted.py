"""Notes the kernels of some work and compiles them for compute capability 9.0, without a GPU.

    TRITON_CACHE_DIR=EMPTY python -m tests.engine.kernels.compiling.compile_noted

A line of JSON: how many kernels were compiled by the first call and by the second, how often one was
described in the only rehearsal, of six launches, how many binaries the cache holds, how many launchers
were made, what was reported on the way, and how many kernels the process believes to have afterwards.
The interpreter has to be off (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver, jit

from engine.kernels import ahead
from engine.kernels.linear.split_linear import partial_linear, split_linear
from engine.kernels.norms.norm import rms_norm, rms_norm_kernel
from tests.engine.kernels.compiling.launcher import Launcher


class Hopper:
    """What Triton asks of a driver before it launches."""

    launcher_cls = Launcher

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def main() -> None:
    driver.set_active(Hopper())
    torch.cuda.synchronize = torch.cuda.get_device_name = lambda device: "none"
    ahead.WORTH_PROCESSES = 1
    described: list[Any] = []
    reported: list[float] = []
    describe = jit.serialize_specialization_data
    jit.serialize_specialization_data = lambda *of: described.append(of) or describe(*of)

    def rehearse() -> None:
        x, weight = torch.zeros(22, 1024).bfloat16(), torch.zeros(2560, 1024).bfloat16()
        for _ in range(2):
            rms_norm(x, x[0], 1e-5), split_linear(x, weight), partial_linear(x, weight)

    with torch.inference_mode():
        counts = [ahead.compile_ahead(rehearse, "work", reported.append) for _ in range(2)]
    binaries = len(list(Path(os.environ["TRITON_CACHE_DIR"]).rglob("*.cubin")))
    launchers = len(list(Path(os.environ["TRITON_CACHE_DIR"]).glob("*.launcher")))
    kept = [kernel for kernels, *_ in rms_norm_kernel.device_caches.values() for kernel in kernels]
    found = {"counts": counts, "described": len(described), "reported": reported, "kept": len(kept)}
    found |= {"binaries": binaries, "launchers": launchers, "launchers_in_c": ahead.LAUNCHERS_IN_C}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
