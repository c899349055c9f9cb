"""Compiles the kernels of the fused VAE decoder for compute capability 9.0, which needs no GPU; a line each.

    python -m tests.models.fused.compile_vae

With the tiles that VoxCPM2 has at 1 and at 64 streams, of one decoder and of one for each stream. The
interpreter accepts what the compiler would refuse; it has to be off here (TRITON_INTERPRET unset), hence a
program of its own.
"""

from __future__ import annotations

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from engine.kernels import streaming_conv as kernels
from models.voxcpm.fused.vae_stages import COPY_BLOCK, ROW_GROUP
from models.voxcpm.fused.vae_tiles import Tile, conv_tile, depthwise_tile, separable_tile

HOPPER = GPUTarget("cuda", 90, 32)
PROCESSORS = 132
PRODUCT = {"PRECISION": "tf32", "ROUND": True, "PDL": True}


def compile_kernel(kernel: Any, constants: dict[str, Any], tile: Tile | None = None) -> None:
    """Compiles for pointers and strides that are multiples of 16."""
    signature, attributes = {}, {}
    for place, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        integer = name in ("rows", "per_stream", "frames", "stride", "dilation")
        signature[name] = "i32" if integer else "*i64" if name in ("slots", "own") else "*fp32"
        if name not in ("rows", "per_stream", "frames", "dilation"):
            attributes[(place,)] = [["tt.divisibility", 16]]
    values = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, signature, values, attributes)
    compiled = triton.compile(source, target=HOPPER, options=tile.options() if tile else {})
    asynchronous = "cp.async" in compiled.asm["ptx"]
    print(
        kernel.__name__, tile, compiled.metadata.shared, "bytes of shared memory, asynchronous:", asynchronous
    )


def main() -> None:
    compile_kernel(kernels.gather_kernel, {"SIZE": 162816, "BLOCK": COPY_BLOCK, "PDL": True})
    for own in ({"own": None}, {}):
        compile_layers(own)


def compile_layers(own: dict[str, None]) -> None:
    """own: empty where streams have weights of their own."""
    output = own | {"C": 32, "TAPS": 7, "STEPS": 8, "BM": 16, "BC": 32, "BLOCK": COPY_BLOCK, "PDL": True}
    compile_kernel(kernels.output_kernel, output)
    for streams in (1, 64):
        groups = 1 if own else streams
        tile = conv_tile(streams // groups * 192, 5 * 256, PROCESSORS, groups)
        sizes = {"BM": tile.m, "BN": tile.n, "BK": tile.k, "GROUP": ROW_GROUP, "BLOCK": COPY_BLOCK}
        up = {"C": 512, "N": 1280, "CHANNELS": 256, "TAPS": 2, "residual": None, "scale": None, "shift": None}
        compile_kernel(kernels.conv_kernel, own | up | sizes | PRODUCT, tile)
        if own:
            tile = depthwise_tile(streams, 960, 256, 1, PROCESSORS)
            sizes = {"BM": tile.m, "BC": tile.n, "STEPS": tile.steps, "BLOCK": COPY_BLOCK}
            compile_kernel(kernels.depthwise_kernel, {"C": 256, "TAPS": 7} | sizes | PRODUCT, tile)
        tile = separable_tile(streams, 1920, 128, 128, 1, PROCESSORS)
        assert tile is not None
        sizes = {"BM": tile.m, "BN": tile.n, "BK": tile.k, "STEPS": tile.steps, "BLOCK": COPY_BLOCK}
        unit = {"C": 128, "N": 128, "TAPS": 7, "scale": None, "shift": None}
        compile_kernel(kernels.separable_kernel, own | unit | sizes | PRODUCT, tile)


if __name__ == "__main__":
    main()
