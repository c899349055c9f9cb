"""Where a layer takes longer with adapters, kernel by kernel, within whole steps.

    python -m benchmarks.gpu.adapters.layers [--shape voxcpm2] [--of language]

A kernel takes from the end of the one before it on its stream to its own end, since kernels begin before
those before them have ended. The figures are means over the layers of some steps, in microseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.adapters.kinds import kinds_of
from benchmarks.gpu.adapters.measure import DIFFERENT, SIZES, beside_weights, engine_of
from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.gpu.profile import Event, recorded_events
from benchmarks.shared.adapter_work import TARGETS, WARM_STEPS, Named, random_adapter, running, step_seconds
from models.voxcpm.engine import VoxCPMEngine

PROFILED_STEPS = 3
FIRST = {"dit": "row_attention", "language": "decode_kernel"}
"""Of the kernel that a layer is taken to begin with, by what it is a layer of: its attention."""
Layer = dict[str, float]


def events_of(engine: VoxCPMEngine, adapters: list[str | None]) -> list[Event]:
    """The kernels of the busiest stream in some steps, one after the other."""
    steps = running(engine, adapters)
    for _ in range(WARM_STEPS):
        next(steps)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorder:
        for _ in range(PROFILED_STEPS):
            next(steps)
        torch.cuda.synchronize()
    steps.close()
    events = recorded_events(recorder, ("kernel",))
    ((busiest, _),) = Counter(event["args"]["stream"] for event in events).most_common(1)
    return sorted((event for event in events if event["args"]["stream"] == busiest), key=lambda e: e["ts"])


def layers_of(events: list[Event], first: str) -> Iterator[list[tuple[str, float]]]:
    """The kernels of each layer, and how long each took."""
    ends = [event["ts"] + event["dur"] for event in events]
    firsts = [i for i, event in enumerate(events) if i > 0 and first in event["name"]]
    for begin, end in pairwise(firsts):
        yield [(events[i]["name"], ends[i] - ends[i - 1]) for i in range(begin, end)]


def commonest(layers: Iterator[list[tuple[str, float]]]) -> Layer:
    """Means over the layers of the kernels that most layers have, by place and name."""
    alike: dict[tuple[str, ...], list[list[float]]] = {}
    for layer in layers:
        names, times = zip(*layer, strict=True)
        alike.setdefault(names, []).append(list(times))
    names, found = max(alike.items(), key=lambda item: len(item[1]))
    means = [statistics.mean(times) for times in zip(*found, strict=True)]
    return {f"{place} {name[:60]}": mean for place, (name, mean) in enumerate(zip(names, means, strict=True))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of random checkpoints")
    parser.add_argument("--of", choices=FIRST, default="dit")
    chosen = parser.parse_args()
    device = device_of(chosen.device)
    sizes = SIZES[device.type]
    engine = engine_of(make_checkpoint(chosen.shape, chosen.directory), device, sizes, "attention")
    made = [random_adapter(engine.config, TARGETS["attention"], number) for number in range(DIFFERENT)]
    for number in range(sizes.slots):
        engine.adapters.add(str(number), Named(made[number % DIFFERENT], f"own{number}"))
    for kind, adapters in kinds_of(sizes.streams, sizes.different).items():
        if kind.startswith("all"):
            continue
        with beside_weights(engine):
            step = statistics.median(step_seconds(engine, adapters, time.perf_counter))
            layer = commonest(layers_of(events_of(engine, adapters), FIRST[chosen.of]))
        print(f"{kind}: a step {1e3 * step:.2f} ms, a layer {sum(layer.values()):.1f} us")
        for name, mean in layer.items():
            print(f"{mean:8.2f}  {name}", flush=True)
    engine.close()


if __name__ == "__main__":
    main()
