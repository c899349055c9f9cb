"""What adapters cost on a CPU, beside the same streams without.

    python -m benchmarks.adapters --json benchmarks/results/adapters_cpu.json

One engine with one thread speaks so many streams at once, in turns without adapters, all with one, and each
with one of its own; rounds follow each other, so that whatever else the machine does meets all alike. A
step's cost is its processor time. Adapters are random, of rank 32: `attention` changes q, k, v and o of both
language models and of the DiT, `all` the linear layers of their MLPs too, `decoder` also the audio VAE's
decoder, as `voxfleet finetune` trains them for the bundled voice. Then adapters are loaded while
streams go on, by a thread that gives way as a worker's does: the wall time of steps with and without.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.shared.adapter_work import (
    RANK,
    STEPS,
    TARGETS,
    WARM_STEPS,
    random_adapter,
    running,
    step_seconds,
)
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from worker.engines.held_adapters import give_way


def cost(
    engine: VoxCPMEngine, streams: int, kinds: dict[str, list[str | None]], rounds: int
) -> dict[str, Any]:
    """Median milliseconds of a step of each kind, and how much more than the first one."""
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, adapters in kinds.items():
            found[kind] += step_seconds(engine, adapters)
    medians = {kind: statistics.median(times) * 1e3 for kind, times in found.items()}
    plain = next(iter(medians.values()))
    more = {kind: round(100 * (median / plain - 1), 1) for kind, median in medians.items()}
    rounded = {kind: round(median, 3) for kind, median in medians.items()}
    return {"streams": streams, "step_ms": rounded, "more_percent": more}


def stall(engine: VoxCPMEngine, targets: tuple[str, ...], loads: int) -> dict[str, float]:
    """Wall milliseconds of steps of 4 streams without and with adapters being loaded, and of a load."""
    steps = running(engine, [None] * 4)
    for _ in range(WARM_STEPS):
        next(steps)
    adapters = [random_adapter(engine.config, targets, 100 + number) for number in range(loads)]
    load_seconds: list[float] = []

    def load() -> None:
        give_way()
        for adapter in adapters:
            began = time.monotonic()
            engine.adapters.add(adapter.digest, adapter)
            load_seconds.append(time.monotonic() - began)
            engine.adapters.remove(adapter.digest)

    def walls(until: Any) -> list[float]:
        found = []
        while not until(found):
            began = time.monotonic()
            next(steps)
            found.append(time.monotonic() - began)
        return found

    alone = walls(lambda found: len(found) == 3 * STEPS)
    loader = threading.Thread(target=load)
    loader.start()
    beside = walls(lambda found: not loader.is_alive() or not engine.has_unfinished())
    loader.join()
    steps.close()
    return {
        "load_ms": round(statistics.median(load_seconds) * 1e3, 1),
        "step_ms_alone": round(statistics.median(alone) * 1e3, 2),
        "step_ms_beside_loads": round(statistics.median(beside) * 1e3, 2),
        "steps_beside_loads": len(beside),
    }


def main() -> None:
    """Print and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    engine = load_engine(
        chosen.model, "cpu", 8, threads=1, silence_guard=False, ratio_cap=False, enable_prefix_caching=False
    )
    tables: dict[str, Any] = {"model": engine.info.name, "rank": RANK, "targets": {}}
    for name, targets in TARGETS.items():
        for number in range(8):
            engine.adapters.add(str(number), random_adapter(engine.config, targets, number))
        rows = []
        for streams in (1, 8):
            kinds: dict[str, list[str | None]] = {"plain": [None] * streams, "one": ["0"] * streams}
            if streams > 1:
                kinds["one row of all"] = ["0"] + [None] * (streams - 1)
                kinds["each its own"] = [str(number) for number in range(streams)]
            rows.append(cost(engine, streams, kinds, chosen.rounds))
            print(name, json.dumps(rows[-1]), flush=True)
        tables["targets"][name] = {"steps": rows, "loading": stall(engine, targets, 20)}
        print(name, json.dumps(tables["targets"][name]["loading"]), flush=True)
        engine.adapters.clear()
    engine.close()
    if chosen.json:
        chosen.json.write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
