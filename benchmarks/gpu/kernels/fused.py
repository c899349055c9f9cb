"""Each fused kernel against the plain form of what it computes: its error, and its time within a CUDA graph.

    python3 -m benchmarks.gpu.kernels [--shape voxcpm2] [--streams 1,16,64,512] [--launches] [--json FILE]

Errors are relative to fp32 on the same inputs and weights, of the fused form and of the plain one in the same
type. Times are microseconds per launch in a row of launches: fused, fused without programmatic dependent
launch, and plain. The last rows are the local encoder and the solver's ten steps over the DiT, in which the
products count as well. `--launches` measures other launches of row attention than the built-in ones instead.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.checkpoints import SHAPES, shape_config
from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.cases import Case, Inputs, Parts
from benchmarks.gpu.kernels.timing import launched_plainly, seconds
from engine.kernels.row_attention import RowLaunch, row_attention
from models.voxcpm.config import VoxCPMConfig

ROW_LAUNCHES = [RowLaunch(tiles, together) for together in (True, False) for tiles in (1, 2, 4, 8)]
REPLAYS, REPEATS = 4, 5


def relative(values: Tensor, truth: Tensor) -> float:
    """Norm of the difference over the norm of the truth."""
    return float((values.double() - truth.double()).norm() / truth.double().norm())


def errors(case: Case, parts: Parts) -> tuple[float, float]:
    """Of the fused form and of the plain one."""
    exact = case.plain(parts.exact, *(tensor.float() for tensor in case.inputs))
    fused = case.fused(*(tensor.clone() for tensor in case.inputs))
    return relative(fused, exact), relative(case.plain(parts.plain, *case.inputs), exact)


def microseconds(compute: Callable[[], Any], launches: int, device: torch.device) -> float:
    """Of one call, the median of several runs; on CUDA of `launches` calls in one graph."""

    def run() -> None:
        for _ in range(launches):
            compute()

    if device.type != "cuda":
        began = time.perf_counter()
        run()
        return (time.perf_counter() - began) / launches * 1e6
    return seconds(run, REPEATS, REPLAYS, device) * 1e6 / launches


def measure(case: Case, parts: Parts) -> dict[str, float]:
    """Errors and times of one case."""
    found = dict(zip(("fused_error", "plain_error"), errors(case, parts), strict=True))
    device, launches = parts.device, case.launches if parts.device.type == "cuda" else 1
    found["fused"] = microseconds(lambda: case.fused(*case.inputs), launches, device)
    found["serial"] = found["fused"]
    if device.type == "cuda":
        with launched_plainly():
            found["serial"] = microseconds(lambda: case.fused(*case.inputs), launches, device)
    found["plain"] = microseconds(lambda: case.plain(parts.plain, *case.inputs), launches, device)
    return found


def compare(parts: Parts, streams: list[int]) -> Iterator[dict[str, Any]]:
    """All cases at all numbers of streams, printed as they are found."""
    print(f"{'':24}streams  error: fused    plain   us: fused   no PDL    plain", flush=True)
    for count in streams:
        for case in parts.cases(count):
            found = measure(case, parts)
            print(
                f"{case.name:24}{count:7} {found['fused_error']:14.2e} {found['plain_error']:8.2e}"
                f" {found['fused']:11.2f} {found['serial']:8.2f} {found['plain']:8.2f}",
                flush=True,
            )
            yield {"name": case.name, "streams": count} | found


def compare_launches(parts: Inputs, streams: list[int]) -> Iterator[dict[str, Any]]:
    """Row attention by other launches than the built-in one, which stands first; then the best of them."""
    best = []
    for count in streams:
        for name, (qkv, sizes, rope, keep) in parts.rows(count).items():
            heads = sizes.num_attention_heads, sizes.num_key_value_heads
            times = {
                _short(choice): microseconds(
                    lambda: row_attention(qkv, *heads, rope, keep, choice),  # noqa: B023
                    parts.launches,
                    parts.device,
                )
                for choice in (None, *ROW_LAUNCHES)
            }
            print(f"{name:24}{count:7} ", {key: round(value, 2) for key, value in times.items()}, flush=True)
            quickest = sorted(times, key=times.__getitem__)[:4]
            best.append(
                f"{name:24}{count:7}  built in {times['built in']:.2f}  best "
                + ", ".join(f"{key} {times[key]:.2f}" for key in quickest)
            )
            yield {"name": name, "streams": count, "microseconds": times}
    print("launches: tiles of a program, loads together or apart", *best, sep="\n", flush=True)


def _short(choice: RowLaunch | None) -> str:
    if choice is None:
        return "built in"
    return f"{choice.tiles}{'' if choice.together else ' apart'}"


def compile_launch(shape: str, launch: RowLaunch) -> None:
    """In a process of its own: leaves the kernels of this launch in Triton's cache."""
    device = torch.device("cuda")
    sizes = VoxCPMConfig.from_dict(shape_config(shape))
    for qkv, heads, rope, keep in Inputs(sizes, device, torch.bfloat16).rows(1).values():
        row_attention(qkv, heads.num_attention_heads, heads.num_key_value_heads, rope, keep, launch)
    torch.cuda.synchronize()


def compile_launches(shape: str) -> None:
    """Compiles on all cores; one after the other it would take longer than what is measured."""
    began, context = time.perf_counter(), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(ROW_LAUNCHES), os.cpu_count() or 1), mp_context=context) as pool:
        list(pool.map(compile_launch, [shape] * len(ROW_LAUNCHES), ROW_LAUNCHES))
    print(f"compiled in {time.perf_counter() - began:.0f} s", flush=True)


@torch.inference_mode()
def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--streams", default="1,16,64,512")
    parser.add_argument("--launches", action="store_true", help="row attention launched in other ways")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path, help="where the results go")
    options = parser.parse_args(arguments)
    device = device_of(options.device)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    if options.launches and device.type == "cuda":
        compile_launches(options.shape)
    place = VoxCPMConfig.from_dict(shape_config(options.shape)), device, dtype
    streams = [int(count) for count in options.streams.split(",")]
    results = list(
        compare_launches(Inputs(*place), streams) if options.launches else compare(Parts(*place), streams)
    )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
