"""How long a backend takes for a step: the clock of `auto` and of `benchmarks/gpu/kernels/attention.py`.

A capturable backend is timed as it runs in production, as a CUDA graph over the layers of a model; launches
from Python would hide the kernels of small steps. Each layer has a cache of its own, so that a layer does not
find its keys in the processor's cache because the layer before just read the same ones.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from engine.attention.backend import AttentionBackend, AttentionBatch, StepShape
from engine.device.cuda_graphs import Recording
from engine.device.devices import on_device

NUM_LAYERS = 8
REPRESENTATIVE_STEPS = {
    "decode 1 x 512": AttentionBatch([511], [1], [[]]),
    "decode 16 x 512": AttentionBatch([511] * 16, [1] * 16, [[]] * 16),
    "decode 64 x 512": AttentionBatch([511] * 64, [1] * 64, [[]] * 64),
    "prefill 4 x 128": AttentionBatch([0] * 4, [128] * 4, [[]] * 4),
}
"""What speech asks for: streams of some ten seconds, prompts of a sentence or two. Tables are made later."""


def measure_backend(
    backend: AttentionBackend,
    device: torch.device,
    dtype: torch.dtype,
    head_dim: int,
    block_size: int,
    heads: tuple[int, int],
) -> dict[str, float]:
    """Seconds per layer for each of `REPRESENTATIVE_STEPS`; the median of several runs.

    Raises: whatever the backend's library does where its kernels refuse.
    """
    return {
        name: seconds_per_layer(backend, batch, device, dtype, head_dim, block_size, heads)
        for name, batch in REPRESENTATIVE_STEPS.items()
    }


@torch.inference_mode()
def seconds_per_layer(
    backend: AttentionBackend,
    batch: AttentionBatch,
    device: torch.device,
    dtype: torch.dtype,
    head_dim: int,
    block_size: int,
    heads: tuple[int, int],
) -> float:
    """Seconds that one layer takes for `batch`, whose block tables are replaced by shuffled ones."""
    batch, num_blocks = with_shuffled_tables(batch, block_size)
    shape = (NUM_LAYERS, 2, num_blocks, block_size, heads[1], head_dim)
    caches = torch.randn(shape, dtype=dtype, device=device).unbind(0)
    tokens = sum(batch.counts)
    q = torch.randn(tokens, heads[0], head_dim, dtype=dtype, device=device)
    k, v = torch.randn(2, tokens, heads[1], head_dim, dtype=dtype, device=device).unbind(0)
    metadata = backend.plan(batch, out=backend.buffers(StepShape.of(batch)) if backend.capturable else None)

    def run() -> None:
        for cache in caches:
            backend.forward(q, k, v, cache, metadata)

    if device.type != "cuda":
        return _wall_seconds(run) / NUM_LAYERS
    with on_device(device):
        return cuda_seconds(captured(run, device) if backend.capturable else run, device) / NUM_LAYERS


def with_shuffled_tables(batch: AttentionBatch, block_size: int, seed: int = 0) -> tuple[AttentionBatch, int]:
    """The batch with block tables in random order over as many blocks as it needs, and their number."""
    needed = [-(-context // block_size) for context in batch.context_lens]
    order = torch.randperm(sum(needed), generator=torch.Generator().manual_seed(seed)).tolist()
    tables = [[order.pop() for _ in range(blocks)] for blocks in needed]
    return AttentionBatch(batch.starts, batch.counts, tables), sum(needed)


def captured(run: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """`run` as a replay of a CUDA graph; it is run a few times before, so that kernels are compiled."""
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(side):
        for _ in range(2):
            run()
    torch.cuda.current_stream(device).wait_stream(side)
    return Recording(run, device, side)


def cuda_seconds(run: Callable[[], None], device: torch.device, repeats: int = 5, runs: int = 10) -> float:
    """Seconds of one run by the device's clock: the median of `repeats` measurements of `runs` runs each."""
    run()
    stream = torch.cuda.current_stream(device)
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(stream)
        for _ in range(runs):
            run()
        end.record(stream)
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / runs)
    return statistics.median(times)


def _wall_seconds(run: Callable[[], None], repeats: int = 3) -> float:
    run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
