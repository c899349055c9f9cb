"""Attention of long prompts on a GPU: this engine's kernel, in several launches, FlashAttention 2, cuDNN.

    python3 -m benchmarks.gpu.kernels.prompts [--heads 32 8]

Prompts of equal and of unequal lengths, packed as in a step; microseconds, and what of them is products
(4 D for each query, head and position it sees) in TFLOP a second. Outputs are compared with FlashAttention's.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.gpu.device import device_of
from engine.attention.triton_backend.prompts import LAUNCH, Launch, attend, tiling

HEAD_DIM = 128
CASES = {
    "4 x 4000": [(0, 4000)] * 4,
    "29 x 560": [(0, 100 + 33 * i) for i in range(29)],
    "2 x 2000 behind 6000": [(6000, 2000)] * 2,
}
Run = Callable[[], Tensor]


CHOICES = [
    Launch(queries, keys, warps, stages, descriptors)
    for queries, keys, warps, stages in (
        (128, 128, 8, 3), (128, 64, 8, 3), (128, 64, 8, 4), (256, 64, 8, 3), (64, 64, 4, 3),
    )
    for descriptors in (True, False)
]  # fmt: skip


def flash(q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_k: Tensor, longest: tuple[int, int]) -> Tensor:
    return torch.ops.aten._flash_attention_forward(q, k, v, cu_q, cu_k, *longest, 0.0, True, False)[0]


def cudnn(q: Tensor, k: Tensor, v: Tensor, rows: int) -> Tensor:
    """Rows of one length."""
    q, k, v = (side.unflatten(0, (rows, -1)).transpose(1, 2) for side in (q, k, v))
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return out.transpose(1, 2).flatten(0, 1)


def microseconds(run: Run, runs: int = 10) -> float:
    for _ in range(3):
        run()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(runs):
        run()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / runs


def tell(name: str, run: Run, wanted: Tensor, flop: float) -> None:
    try:
        error = (run().float() - wanted).abs().max().item()
        took = microseconds(run)
    except Exception as problem:
        print(f"  {name:34} failed: {type(problem).__name__}: {str(problem)[:110]}", flush=True)
        return
    print(f"  {name:34} {took:8.1f} us {flop / took / 1e6:6.0f} TFLOP/s, off by {error:.4f}", flush=True)


@torch.inference_mode()
def compare(case: list[tuple[int, int]], heads: tuple[int, int], device: torch.device, quick: bool) -> None:
    counts, contexts = [count for _, count in case], [start + count for start, count in case]
    width = (heads[0] + 2 * heads[1]) * HEAD_DIM
    qkv = torch.randn(sum(counts), width, device=device, dtype=torch.bfloat16).unflatten(1, (-1, HEAD_DIM))
    q, k, v = qkv.split([heads[0], heads[1], heads[1]], dim=1)
    if contexts != counts:
        shape = (2, sum(contexts), heads[1], HEAD_DIM)
        k, v = torch.randn(shape, device=device, dtype=torch.bfloat16).unbind(0)
    cu_q, cu_k = (
        torch.tensor([0, *itertools.accumulate(n)], dtype=torch.int32, device=device)
        for n in (counts, contexts)
    )
    seen = sum(count * start + count * (count + 1) / 2 for start, count in case)
    flop = 4 * HEAD_DIM * heads[0] * seen
    longest = max(counts), max(contexts)
    wanted = flash(q, k, v, cu_q, cu_k, longest).float()
    tell("FlashAttention 2 of PyTorch", lambda: flash(q, k, v, cu_q, cu_k, longest), wanted, flop)
    if len(set(case)) == 1 and contexts == counts:
        tell("cuDNN", lambda: cudnn(q, k, v, len(case)), wanted, flop)
    for launch in [LAUNCH] if quick else CHOICES:
        tiles = torch.from_numpy(tiling([start for start, _ in case], counts, launch.queries)).to(device)
        tell(
            f"{launch.queries} x {launch.keys}, {launch.warps} warps, {launch.stages} stages"
            + (", descriptors" if launch.descriptors else ""),
            lambda launch=launch, tiles=tiles: attend(q, k, v, tiles, cu_q, cu_k, launch),
            wanted,
            flop,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, nargs=2, action="append", help="of queries and of keys")
    parser.add_argument("--quick", action="store_true", help="the launch in use alone")
    args = parser.parse_args()
    device = device_of()
    for heads in args.heads or [(32, 8), (16, 8)]:
        for name, case in CASES.items():
            print(f"{torch.cuda.get_device_name(device)}, {name}, heads {tuple(heads)}", flush=True)
            compare(case, tuple(heads), device, args.quick)


if __name__ == "__main__":
    main()
