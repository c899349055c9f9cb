"""What is measured with adapters on a GPU, see the package."""

from __future__ import annotations

import gc
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.adapters.arrivals import arrivals, register, zipf
from benchmarks.gpu.adapters.kinds import kinds_of, more_percent
from benchmarks.gpu.work import percentile
from benchmarks.shared.adapter_work import (
    RANK,
    TEXT,
    Named,
    Sizes,
    random_adapter,
    running,
    step_seconds,
)
from models.lora.adapter import Adapter
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.options import AdapterLayers

GOALS = {
    "one stream, more %": {"goal": 8, "at least": 15},
    "64 streams; 1, 8, 32 different, more %": {"goal": [3, 4, 6], "at least": [5, 8, 10]},
    "longest step beside loads, ratio": {"goal": 1.1},
    "first audio p50, 1,000 adapters by Zipf, ratio": {"goal": 1.2, "at least": 1.5},
}
FEW = {"one stream": 1, "two streams": 2, "four streams": 4}
"""Streams whose products, all or those of the language models, add what adapters do themselves."""
DIFFERENT = 4
"""Adapters that are made; others have their layers."""
UNTIL_IN_WEIGHTS = 24
"""Steps after which an adapter that everybody has is in the weights."""
SHORT_PATCHES, STEPS_BETWEEN = 2, 4
Say = Callable[[str], None]


SIZES = {"cuda": Sizes(64, (1, 8, 32), 32, 1000, 3, 120, 320, 16), "cpu": Sizes(2, (1, 2), 2, 6, 1, 8, 8, 2)}


def engine_of(directory: Path, device: torch.device, sizes: Sizes, layers: AdapterLayers) -> VoxCPMEngine:
    cuda = device.type == "cuda"
    options = EngineOptions(
        max_num_seqs=sizes.streams, max_model_len=1024 if cuda else 128, silence_guard=False, ratio_cap=False,
        enable_prefix_caching=False, attention_backend="triton" if cuda else "auto",
        graphs="auto" if cuda else "off",
        max_adapters=sizes.registered + sizes.slots + sizes.steps, adapter_slots=sizes.slots,
        typical_seconds=30.0, adapter_rank=RANK, adapter_layers=layers,
    )  # fmt: skip
    dtype = torch.bfloat16 if cuda else None
    return VoxCPMEngine(load_checkpoint(directory, str(device), dtype=dtype), options)


@contextmanager
def beside_weights(engine: VoxCPMEngine) -> Iterator[None]:
    """No adapter goes into the weights within."""
    bank = engine._runner.adapters
    if bank is None:
        yield
        return
    bank.begin_anew()
    in_weights, bank.in_weights = bank.in_weights, None
    try:
        yield
    finally:
        bank.in_weights = in_weights


def step_costs(engine: VoxCPMEngine, streams: int, different: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """Median milliseconds of a step by who has adapters, and how much more than with none."""
    kinds = kinds_of(streams, different)
    found: dict[str, list[float]] = {}
    for adapters in kinds.values():  # records what is not yet
        step_seconds(engine, adapters, time.perf_counter)
    for _ in range(rounds):
        for kind, adapters in kinds.items():
            with beside_weights(engine):
                times = step_seconds(engine, adapters, time.perf_counter)
            found.setdefault(kind, []).extend(times)
            if engine._runner.adapters is not None and adapters[0] is not None and len({*adapters}) == 1:
                times = step_seconds(engine, adapters, time.perf_counter, UNTIL_IN_WEIGHTS)
                found.setdefault(f"{kind}, in the weights", []).extend(times)
    medians = {kind: 1e3 * statistics.median(times) for kind, times in found.items()}
    return {
        "streams": streams,
        "step_ms": {kind: round(median, 3) for kind, median in medians.items()},
        "more_percent": more_percent(medians),
    }


def short_clips(engine: VoxCPMEngine, steps: Iterator[None], names: Iterator[str], count: int) -> list[float]:
    """Seconds of steps of streams that go on, a short clip with the next adapter joining every few."""
    seconds = SHORT_PATCHES * engine.info.patch_seconds
    found = []
    for step in range(count):
        if step % STEPS_BETWEEN == 0:
            engine.add_request(
                SpeechRequest(
                    f"s{step}", TEXT, step, min_seconds=seconds, max_seconds=seconds, adapter=next(names)
                )
            )
        began = time.perf_counter()
        next(steps)
        found.append(time.perf_counter() - began)
    return found


def loading(engine: VoxCPMEngine, of: Adapter, sizes: Sizes) -> dict[str, Any]:
    """Steps beside clips whose adapters were there already, and beside clips whose adapters were not."""
    there = [str(number) for number in range(min(8, sizes.slots))]
    count = sizes.steps // STEPS_BETWEEN
    steps = running(engine, [there[i % len(there)] for i in range(sizes.streams - 1)], 10 * sizes.steps)
    for _ in range(6):
        next(steps)
    short_clips(engine, steps, iter([there[0]] * count), sizes.steps)
    alone = short_clips(engine, steps, iter([there[0]] * count), sizes.steps)
    loaded: list[str] = []
    load_seconds: list[float] = []

    def load() -> None:
        for number in range(count):
            began = time.perf_counter()
            engine.adapters.add(f"new{number}", Named(of, f"new{number}"))
            load_seconds.append(time.perf_counter() - began)
            loaded.append(f"new{number}")

    loader = threading.Thread(target=load)
    loader.start()
    while not loaded:
        next(steps)

    def newest() -> Iterator[str]:
        used = 0
        while True:
            used = min(used + 1, len(loaded))
            yield loaded[used - 1]

    beside = short_clips(engine, steps, newest(), sizes.steps)
    loader.join()
    steps.close()
    for name in loaded:
        engine.adapters.remove(name)
    alone_ms, beside_ms = ([1e3 * value for value in found] for found in (alone, beside))
    return {
        "load_ms": round(1e3 * statistics.median(load_seconds), 1),
        "step_ms_p50": [round(percentile(found, 0.5), 2) for found in (alone_ms, beside_ms)],
        "step_ms_p95": [round(percentile(found, 0.95), 2) for found in (alone_ms, beside_ms)],
        "longest_ms": [round(max(found), 2) for found in (alone_ms, beside_ms)],
        "longest_ratio": round(max(beside_ms) / max(alone_ms), 3),
    }


def measure(
    engine: VoxCPMEngine, targets: tuple[str, ...], sizes: Sizes, say: Say, only_steps: bool = False
) -> dict[str, Any]:
    """All figures, or those of 1; each is said as it is there."""
    engine.adapters.clear()
    adapters = [
        random_adapter(engine.config, targets, number) for number in range(min(DIFFERENT, sizes.slots))
    ]
    for number in range(sizes.slots):
        of = adapters[number % len(adapters)]
        engine.adapters.add(str(number), Named(of, f"own{number}"))
    if not only_steps:
        register(engine, adapters, sizes)
    gc.collect()
    gc.freeze()  # as a worker does once it is ready: what looks through all of it holds up a step
    found: dict[str, Any] = {}
    parts: dict[str, Callable[[], Any]] = {
        name: partial(step_costs, engine, few, tuple(sorted({1, few})), sizes.rounds + 2)
        for name, few in FEW.items()
        if few < sizes.streams
    } | {
        "many streams": lambda: step_costs(engine, sizes.streams, sizes.different, sizes.rounds),
    }
    others: dict[str, Callable[[], Any]] = {
        "loading": lambda: loading(engine, adapters[0], sizes),
        "zipf": lambda: zipf(engine, sizes),
        "arrivals": lambda: arrivals(engine, sizes),
    }
    for name, part in (parts if only_steps else parts | others).items():
        began = time.perf_counter()
        found[name] = part()
        say(f"{name} ({time.perf_counter() - began:.0f} s): {json.dumps(found[name])}")
    return found
