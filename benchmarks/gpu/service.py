#!/usr/bin/env python3
"""The whole service on a GPU: listeners of a gateway before one worker, random weights of a released shape.

    python -m benchmarks.gpu.service                          VoxCPM2, 1 to 256 listeners
    python -m benchmarks.gpu.service --shape tiny --device cpu --streams 1,2 --no-save     does it work

Each listener asks for one clip after the other over the streaming API, as in a service that runs; then all
ask at once, for a short one, a few times. A random stop head never says stop: clips end at the length that
their text allows. Listeners are processes beside the gateway's and the worker's, on the same host. Per number
of listeners: what `voxfleet bench` prints, and the CPU time that a second of audio cost gateway and worker.
It goes into benchmarks/results/gpu_service.json under the shape, with the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.results import machine
from benchmarks.shared.fleet import Process, allow_many_files, free_port, until_ready
from benchmarks.shared.results import keep, kept
from engine.cpu.cpus import available_cpus
from voxfleet.commands.bench import TEXTS, BenchResult, run_bench

RESULTS = Path(__file__).parents[1] / "results" / "gpu_service.json"
LISTENERS_PER_PROCESS = 32
CLIPS_PER_LISTENER = 3
TOGETHER_TEXTS, TOGETHER_ROUNDS = ("Good morning.",), 4
START_SECONDS = 300.0


def listen(url: str, listeners: int, clips: int, texts: Sequence[str]) -> BenchResult:
    """In a process of its own."""
    return asyncio.run(run_bench(url, listeners, clips, texts))


def shares(streams: int, processes: int) -> list[int]:
    """Listeners of each process."""
    return [streams // processes + (i < streams % processes) for i in range(processes)]


def hear(pool: Executor, url: str, streams: int, clips: int, texts: Sequence[str]) -> BenchResult:
    """What `streams` listeners hear who begin at once, of `clips` each."""
    count = min(available_cpus(), -(-streams // LISTENERS_PER_PROCESS))
    result, began = BenchResult(streams), time.perf_counter()
    parts = [pool.submit(listen, url, share, share * clips, texts) for share in shares(streams, count)]
    for part in parts:
        result.include(part.result())
    result.wall_seconds = time.perf_counter() - began
    return result


def measure(pool: Executor, processes: dict[str, Process], streams: int) -> dict[str, Any]:
    """Figures of `streams` listeners at a time."""
    url = processes["gateway"].url
    before = {name: process.cpu_seconds() for name, process in processes.items()}
    figures = hear(pool, url, streams, CLIPS_PER_LISTENER, TEXTS).summary()
    audio = figures["audio_seconds"] or float("nan")
    figures["cpu_ms_per_audio_second"] = {
        name: round(1e3 * (process.cpu_seconds() - before[name]) / audio, 2)
        for name, process in processes.items()
    }
    return figures | {"together": together(pool, url, streams)}


def together(pool: Executor, url: str, streams: int) -> dict[str, Any]:
    """Figures of as many who all ask at the same moment, time and again."""
    result = BenchResult(streams)
    for _ in range(TOGETHER_ROUNDS):
        heard = hear(pool, url, streams, 1, TOGETHER_TEXTS)
        result.include(heard)
        result.wall_seconds += heard.wall_seconds
    return result.summary()


def line(figures: dict[str, Any]) -> str:
    """The printed rows."""
    count, cpu = figures["concurrency"], figures["cpu_ms_per_audio_second"]
    return (
        f"{count:>4} listeners, one clip after the other  {heard_line(figures)}\n"
        f"{' ':>4}            CPU ms per audio s: gateway {cpu['gateway']}, worker {cpu['worker']}\n"
        f"{' ':>4}            all at once             {heard_line(figures['together'])}"
    )


def heard_line(figures: dict[str, Any]) -> str:
    """Of a `BenchResult.summary()`."""
    first, rtf = figures["first_audio_seconds"], figures["rtf"]
    if first is None:
        return str(figures["errors"])
    return (
        f"first audio {1e3 * first['p50']:7.1f} /{1e3 * first['p99']:7.1f} ms  "
        f"RTF {rtf['p50']:.4f} /{rtf['p99']:.4f}  {figures['audio_seconds_per_second']:8.1f} audio s/s  "
        f"underruns {figures['underruns']}  errors {sum(figures['errors'].values())}"
    )


@asynccontextmanager
async def service(checkpoint: Path, device: str, slots: int) -> AsyncIterator[dict[str, Process]]:
    """A gateway and one worker, ready, for as long as the block lasts."""
    allow_many_files()
    began = time.perf_counter()
    options = ("--model", str(checkpoint), "--device", device, "--slots", str(slots))
    worker = Process("worker", *options, port=free_port())
    gateway = Process("gateway", "--workers", worker.url, port=free_port(), log_level="error")
    processes = {"gateway": gateway, "worker": worker}
    try:
        await until_ready(gateway, [worker], START_SECONDS)
        print(f"ready after {time.perf_counter() - began:.1f} s", flush=True)
        yield processes
    finally:
        for process in processes.values():
            process.kill()


async def serve(arguments: argparse.Namespace, checkpoint: Path) -> None:
    """The service from start to end, measured with every number of listeners."""
    async with service(checkpoint, arguments.device, max(arguments.streams)) as processes:
        await asyncio.to_thread(measure_all, processes, arguments)


def measure_all(processes: dict[str, Process], arguments: argparse.Namespace) -> None:
    """One number of listeners after the other; what there is is kept after each."""
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(available_cpus(), mp_context=get_context("spawn")) as pool:
        together(pool, processes["gateway"].url, max(arguments.streams))  # listeners' processes start
        for count in arguments.streams:
            rows.append(measure(pool, processes, count))
            print(line(rows[-1]), flush=True)
            if not arguments.no_save:
                save(arguments, rows)


def save(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    about = machine(torch.device(arguments.device), {"cores": available_cpus()})
    at = datetime.now(UTC).isoformat(timespec="seconds")
    shapes = kept(arguments.results).get("shapes", {})
    shapes[arguments.shape] = {"listeners": rows, "machine": about, "at": at}
    keep(arguments.results, {"script": "benchmarks/gpu/service.py", "shapes": shapes})


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where checkpoints are made")
    parser.add_argument(
        "--streams",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[1, 4, 16, 64, 128, 256],
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--no-save", action="store_true", help="print only")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    arguments = parse(argv)
    checkpoint = make_checkpoint(arguments.shape, arguments.directory).resolve()
    asyncio.run(serve(arguments, checkpoint))


if __name__ == "__main__":
    main()
