"""Qwen3 side by side with others, random weights of released sizes, in turns.

    python -m benchmarks.llm --device cpu --peer transformers --peer transformers-bf16 --json FILE
    python -m benchmarks.llm --device cuda --streams 1 8 64 --tokens 128 --bench --prefill --json FILE
    python -m benchmarks.llm --device cuda --bench --prefill --peer nano-vllm --nano-vllm DIR

Each system lives in a process of its own, one after the other, as often as `--rounds` says, so that a noisy
machine disturbs all. Milliseconds a token: of prompts of 128 tokens, the time of `--tokens` new ones less
that of one, over their number; the best of the rounds. With 256 prompts as nano-vllm's own bench.py has them
(`--bench`): new tokens a second, prompts included. Prompts of 4,000 tokens, 16 at once (`--prefill`): their
tokens a second. A start is until two tokens are there; with `--start` the first one, which may compile
kernels, stands beside that of a round.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.llm.checkpoints import SHAPES, write_checkpoint
from benchmarks.llm.systems import SYSTEMS, NanoVLLM, System

PROMPT_TOKENS = 128
PREFILL_PROMPTS, PREFILL_TOKENS = 16, 4000
FIRST_ID, LAST_ID = 100, 10000
START = "start to first tokens, s"


def prompts(rng: random.Random, lengths: list[int]) -> list[list[int]]:
    return [[rng.randint(FIRST_ID, LAST_ID) for _ in range(length)] for length in lengths]


def bench_requests() -> tuple[list[list[int]], list[int]]:
    """Prompts of nano-vllm's own bench.py, and how many new tokens each is for."""
    rng = random.Random(0)
    given = prompts(rng, [rng.randint(100, 1024) for _ in range(256)])
    return given, [rng.randint(100, 1024) for _ in range(256)]


def seconds(system: System, streams: int, tokens: int, seed: int) -> float:
    given = prompts(random.Random(seed), [PROMPT_TOKENS] * streams)
    began = time.perf_counter()
    system.generate(given, [tokens] * streams)
    return time.perf_counter() - began


def measure(name: str, directory: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Of one system in this process."""
    began = time.perf_counter()
    system = SYSTEMS[name](directory, args.device, args.tensor_parallel_size)
    seconds(system, 1, 2, seed=0)  # what happens at the first call alone
    found: dict[str, Any] = {START: round(time.perf_counter() - began, 1)}
    if args.start_only:
        system.close()
        return found
    for streams in args.streams:
        seconds(system, streams, 2, seed=1)
        one, many = seconds(system, streams, 1, seed=2), seconds(system, streams, args.tokens, seed=3)
        found[f"{streams} streams, ms a token"] = round(1000 * (many - one) / (args.tokens - 1), 3)
    if args.bench:
        given, counts = bench_requests()
        began = time.perf_counter()
        system.generate(given, counts)
        found["bench of 256, tokens a second"] = round(sum(counts) / (time.perf_counter() - began))
    if args.prefill:
        took = []
        for seed in range(3):
            given = prompts(random.Random(seed), [PREFILL_TOKENS] * PREFILL_PROMPTS)
            began = time.perf_counter()
            system.generate(given, [1] * PREFILL_PROMPTS)
            took.append(time.perf_counter() - began)
        found["prefill, tokens a second"] = round(PREFILL_TOKENS * PREFILL_PROMPTS / min(took))
    system.close()
    return found


def in_a_process(name: str, directory: Path, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.llm", *sys.argv[1:], "--only", name]
    command += ["--checkpoint", str(directory), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def better(name: str, first: float, second: float) -> float:
    return max(first, second) if "a second" in name else min(first, second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=tuple(SHAPES), default="0.6b")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peer", choices=[name for name in SYSTEMS if name != "ours"], action="append")
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--tensor-parallel-size", type=int, default=1, help="devices of each system")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--prefill", action="store_true")
    parser.add_argument(
        "--start", action="store_true", help="each starts once before, which compiles kernels"
    )
    parser.add_argument("--start-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--nano-vllm", type=Path)
    parser.add_argument("--checkpoint", type=Path, help="where the random weights are, or are written")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=tuple(SYSTEMS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    directory = args.checkpoint or Path(tempfile.gettempdir()) / f"qwen3-{args.shape}"
    if args.only:
        NanoVLLM.source = args.nano_vllm
        print(json.dumps(measure(args.only, directory, args)))
        return
    write_checkpoint(directory, args.shape)
    names = ("ours", *(args.peer or []))
    results: dict[str, dict[str, Any]] = {name: {} for name in names}
    if args.start:
        for name in names:
            results[name][f"first {START}"] = in_a_process(name, directory, "--start-only")[START]
    for _ in range(args.rounds):
        for name in names:
            found = in_a_process(name, directory)
            results[name] |= {
                key: better(key, results[name].get(key, value), value) for key, value in found.items()
            }
            print(name, found, file=sys.stderr, flush=True)
    report = {"shape": args.shape, "device": args.device, "tokens": args.tokens}
    report |= {"tensor_parallel_size": args.tensor_parallel_size, "systems": results}
    for name in args.peer or []:
        for key, value in results["ours"].items():
            ratio = value / results[name][key]
            report.setdefault("times", {})[f"{key}, {name}"] = round(
                ratio if "a second" in key else 1 / ratio, 2
            )
    print(json.dumps(report, indent=1))
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
