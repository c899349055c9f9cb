#!/usr/bin/env python3
"""VoxCPM on a GPU: random weights of a released shape in bf16, 10 solver steps, guidance 2, forced lengths.

    python -m benchmarks.gpu                                      every scenario, VoxCPM2
    python -m benchmarks.gpu concurrency --streams 1,64 --peer    some, and the peer under the same work
    python -m benchmarks.gpu real_time --most 640 --low 256
    python -m benchmarks.gpu --shape tiny --device cpu --streams 1,2 --no-save     does it work

Scenarios: concurrency, real_time, start_up, graphs, profile. Each is printed as it goes and merged into
benchmarks/results/gpu.json under "SHAPE/SCENARIO" as soon as it is measured, with the machine, versions, and
its measured copy and matrix rates; the plot beside it is drawn anew. A scenario that fails says so and the
others go on. Texts, lengths and the simulation of listeners: benchmarks/gpu/work.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.gpu.arithmetic import against_the_machine, machine_rates
from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.device import device_of
from benchmarks.gpu.engines import ours as ours_engine
from benchmarks.gpu.engines import peer as peer_engine
from benchmarks.gpu.goals import verdicts
from benchmarks.gpu.profile import profiled_steps
from benchmarks.gpu.results import RESULTS, Figures, machine, save
from benchmarks.gpu.work import TEXTS, concurrency, line
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions

ADAPTER_SLOTS = 8
"""A worker's on a GPU."""
MARK = "RESULT "


@dataclasses.dataclass
class Bench:
    """What the scenarios share: the checkpoint's files, sizes, and the machine's rates."""

    directory: Path
    device: torch.device
    options: EngineOptions
    arguments: argparse.Namespace
    rates: dict[str, float]

    def checkpoint(self, dtype: torch.dtype = torch.bfloat16) -> Checkpoint:
        """The weights, read anew; scenarios must not see each other's changes."""
        return load_checkpoint(self.directory, str(self.device), dtype=dtype)

    def sized(self, max_num_seqs: int) -> EngineOptions:
        return dataclasses.replace(self.options, max_num_seqs=max_num_seqs)


def measure_concurrency(bench: Bench) -> Figures:
    """Every number of streams with every kind of text, one engine for all."""
    if bench.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(bench.device)
    checkpoint, works = bench.checkpoint(), []
    tokenizer = checkpoint.tokenizer
    with ours_engine.engine_of(checkpoint, bench.sized(max(bench.arguments.streams))) as ours:
        for kind in bench.arguments.texts:
            for streams in bench.arguments.streams:
                figures = concurrency(ours, kind, streams, bench.arguments.patches)
                context = len(tokenizer.encode(TEXTS[kind][0])) + figures["patches"] / 2
                figures |= against_the_machine(checkpoint.config, figures, context, bench.rates)
                works.append(figures)
                print(f"ours {line(figures)}  {figures['times_the_floor']:.2f} x floor", flush=True)
        memory = memory_in_use(bench.device)
        programs = ours.has_programs
    return {"works": works, "memory": memory, "has_programs": programs}


def measure_peer(bench: Bench, ours: Figures) -> Figures:
    """The same work by the peer, and how many times its figures ours are.

    Raises RuntimeError when it came to none of it.
    """
    patches = bench.arguments.patches
    works = [
        (kind, streams, patches) for kind in bench.arguments.texts for streams in bench.arguments.streams
    ]
    figures = peer_engine.measure_in_child(bench.directory, works, bench.arguments.peer_seconds)
    if not figures["works"]:
        raise RuntimeError(f"the peer measured nothing: {' '.join(figures.get('failed', []))}")
    figures["ratios"] = peer_engine.ratios(ours["works"], figures["works"])
    for row in figures["ratios"]:
        print("ratio", json.dumps(row), flush=True)
    return figures


def measure_real_time(bench: Bench) -> Figures:
    arguments = bench.arguments
    patches, ramp = arguments.patches or ours_engine.REAL_TIME_PATCHES, arguments.ramp_seconds
    sized = bench.sized(arguments.most)
    return ours_engine.real_time(bench.checkpoint(), sized, arguments.low, patches, ramp)


def measure_start_up(bench: Bench) -> Figures:
    """Without adapters, and with slots for as many as a worker has."""
    slots = "--adapter-slots", str(ADAPTER_SLOTS)
    return starts(bench) | {"with_adapter_slots": ADAPTER_SLOTS, "with_adapters": starts(bench, *slots)}


def starts(bench: Bench, *options: str) -> Figures:
    """Twice in new processes, whose last line is the result: the first finds no compiled kernels, the second
    those of the first.
    """
    own = [argument for argument in bench.arguments.argv if argument != "--peer"]
    command = [sys.executable, "-m", "benchmarks.gpu.engines.scenarios", *own, *options, "--only-start-up"]
    found = []
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"TRITON_CACHE_DIR": cache}
        for _ in range(2):
            child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            found.append(json.loads(child.stdout.rsplit(MARK, 1)[1]))
    return found[0] | {"later": found[1]}


def measure_graphs(bench: Bench) -> Figures:
    sizes = list(range(1, bench.arguments.graph_sizes + 1))
    options, patches = bench.sized(sizes[-1]), bench.arguments.patches or 8
    exact = bench.checkpoint(torch.float32)
    return ours_engine.graphs_against_eager(bench.checkpoint(), options, sizes, patches, exact)


def measure_profile(bench: Bench) -> Figures:
    """Texts beside the results; the figures are their file names."""
    cuda, files = bench.device.type == "cuda", []
    checkpoint = bench.checkpoint()
    with ours_engine.engine_of(checkpoint, bench.sized(max(bench.arguments.profiled))) as ours:
        for streams in bench.arguments.profiled:
            text = profiled_steps(ours, streams, 5, cuda)
            print(text, flush=True)
            file = bench.arguments.results.parent / f"gpu_profile_{bench.directory.name}_{streams}.txt"
            if not bench.arguments.no_save:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                files.append(file.name)
    return {"files": files}


SCENARIOS: dict[str, Callable[[Bench], Figures]] = {
    "concurrency": measure_concurrency,
    "start_up": measure_start_up,
    "graphs": measure_graphs,
    "profile": measure_profile,
    "real_time": measure_real_time,
}


def memory_in_use(device: torch.device) -> dict[str, int]:
    """Bytes: what tensors took at most, what the allocator holds, and what the device has given away."""
    if device.type != "cuda":
        return {}
    free, total = torch.cuda.mem_get_info(device)
    return {
        "peak_allocated": torch.cuda.max_memory_allocated(device),
        "reserved": torch.cuda.memory_reserved(device),
        "in_use_on_device": total - free,
        "of_device": total,
    }


def measure(bench: Bench, names: list[str]) -> tuple[dict[str, Figures], list[str]]:
    """(results, names of what failed), saved one by one."""
    about, results, failed = machine(bench.device, bench.rates), {}, []
    print(json.dumps(about), flush=True)
    todo = [(name, lambda name=name: SCENARIOS[name](bench)) for name in names]
    if bench.arguments.peer:
        place = names.index("concurrency") + 1
        todo.insert(place, ("peer", lambda: measure_peer(bench, results["concurrency"])))
    for name, work in todo:
        print(f"\n== {name}", flush=True)
        began = time.perf_counter()
        try:
            figures = work()
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        finally:
            ours_engine.free_memory()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        results[name] = figures | {"machine": about, "seconds": time.perf_counter() - began, "at": at}
        if name not in ("concurrency", "peer", "profile"):
            print(json.dumps({key: value for key, value in figures.items() if key not in ("tried", "sizes")}))
        if not bench.arguments.no_save:
            save(bench.arguments.results, bench.directory.name, {name: results[name]})
    return results, failed


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--shape", default="voxcpm2", choices=SHAPES)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where checkpoints are made")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--streams", type=_numbers, default=[1, 4, 16, 64, 128, 256])
    parser.add_argument("--texts", type=lambda text: text.split(","), default=list(TEXTS))
    parser.add_argument("--patches", type=int, help="length of every clip; left out: that of its text")
    parser.add_argument("--peer", action="store_true", help="the same work through the peer after ours")
    parser.add_argument("--peer-seconds", type=float, default=300.0, help="after which the peer is ended")
    parser.add_argument("--low", type=int, default=256, help="streams that real_time tries first")
    parser.add_argument("--most", type=int, default=640, help="streams that real_time tries at most")
    parser.add_argument("--ramp-seconds", type=float, default=ours_engine.RAMP_SECONDS)
    parser.add_argument("--graph-sizes", type=int, default=33, help="graphs compares batches up to this size")
    parser.add_argument("--profiled", type=_numbers, default=[1, 64], help="streams that profile looks at")
    parser.add_argument("--start-up-seqs", type=int, default=256, help="max_num_seqs of start_up")
    parser.add_argument("--graphs", default="auto", choices=("auto", "off", "static"))
    parser.add_argument("--attention", default="auto", help="attention back end")
    parser.add_argument("--max-model-len", type=int, default=4096)
    parser.add_argument("--only-start-up", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--adapter-slots", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    arguments.argv = sys.argv[1:] if argv is None else argv
    arguments.scenarios = arguments.scenarios or list(SCENARIOS)
    if unknown := set(arguments.scenarios) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    if unknown := set(arguments.texts) - set(TEXTS):
        parser.error(f"no such text: {', '.join(sorted(unknown))}")
    if arguments.peer and "concurrency" not in arguments.scenarios:
        parser.error("--peer is compared with concurrency, which is not measured")
    return arguments


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    device = device_of(arguments.device)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    directory = make_checkpoint(arguments.shape, arguments.directory)
    options = dataclasses.replace(
        ours_engine.OPTIONS, graphs=arguments.graphs, attention_backend=arguments.attention,
        max_model_len=arguments.max_model_len,
    )  # fmt: skip
    if arguments.only_start_up:
        slots, seqs = arguments.adapter_slots, arguments.start_up_seqs
        sized = dataclasses.replace(options, max_num_seqs=seqs, adapter_slots=slots)
        print(MARK + json.dumps(ours_engine.start_up(directory, arguments.device, sized)))
        return 0
    bench = Bench(directory, device, options, arguments, machine_rates(device))
    results, failed = measure(bench, arguments.scenarios)
    if arguments.shape == "voxcpm2":
        for name, verdict in verdicts(results).items():
            print(f"{name}: {json.dumps(verdict)}", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
