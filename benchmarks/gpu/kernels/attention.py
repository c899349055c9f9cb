"""The attention backends on a GPU: the conformance suite, then the time of each for steps of speech.

    python3 -m benchmarks.gpu.kernels.attention --json benchmarks/results/gpu_attention.json

Every backend is held to the cases of `tests/engine/attention/conformance.py` in bf16, fp16 and fp32, CUDA
graph replay included; then decodes and prefills are timed inside a CUDA graph for the shape of VoxCPM2 (16
query heads on 2 key/value heads of 128). Beside each time stands the rate at which keys and values were read,
to compare with the measured rate of a copy. It needs torch, numpy and Triton alone, and exits non-zero when a
case fails. `--device cpu` runs the cases alone (TRITON_INTERPRET=1 for Triton's).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import logging
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata as packages
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.device import device_of
from engine.attention import AttentionBackend, AttentionBatch, select_backend
from engine.attention.measure import seconds_per_layer
from engine.attention.paged import FLASH_PAGE_MULTIPLE
from engine.attention.selection import BACKENDS, build_backend
from engine.kernels.ahead import compile_ahead
from tests.engine.attention import conformance as rules
from tests.engine.attention.conformance import Case

HEADS, HEAD_DIM = (16, 2), 128
LAYOUTS = [  # dtype, block size, head dim
    (torch.bfloat16, 16, 128),
    (torch.bfloat16, 16, 64),
    (torch.bfloat16, 64, 128),
    (torch.bfloat16, 256, 128),
    (torch.bfloat16, 256, 64),
    (torch.float16, 16, 128),
    (torch.float32, 32, 128),
]
TIMED_BLOCK_SIZES = (16, 64, 256)
DECODES = [(batch, context) for context in (128, 1024) for batch in (1, 16, 64, 256)]
PREFILLS = [(1, 64), (1, 512), (4, 128), (16, 64), (1, 2048)]
REPLAYS = {
    "decodes": (rules.DECODE_BATCHES, rules.DECODE_SHAPE),
    "mixed steps": (rules.MIXED_BATCHES, rules.MIXED_SHAPE),
}
Check = tuple[str, Case, Callable[[AttentionBackend], None]]


def checks(device: torch.device, recorded: bool) -> Iterator[Check]:
    """Every case as (name, layout it is for, function of a backend).

    Args:
        recorded: replays are those of CUDA graphs.
    """
    steps = list(rules.small_cases())
    if device.type == "cuda":
        steps += [case for layout in LAYOUTS for case in rules.cases(*layout)]
    for case in steps:
        yield str(case), case, lambda backend, case=case: rules.check_step(backend, case, device)
    for dtype, block_size, head_dim in LAYOUTS if device.type == "cuda" else LAYOUTS[:1]:
        case = Case("", rules.MIXED, block_size, HEADS, head_dim, dtype)
        yield f"fused views{case}", case, lambda b, case=case: rules.check_fused_views(b, case, device)
        yield f"rotation{case}", case, lambda b, case=case: rules.check_rotation(b, case, device)
        yield f"dummy rows{case}", case, lambda b, case=case: check_dummies(b, case, device)
        if block_size % FLASH_PAGE_MULTIPLE == 0:
            yield f"room to spare{case}", case, lambda b, case=case: check_room(b, case, device)
        for kind in REPLAYS:
            check = functools.partial(check_replay, case=case, device=device, recorded=recorded, kind=kind)
            yield f"replay of {kind}{case}", case, check


def check_dummies(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    rows = rules.MIXES["decodes of unequal length"]
    rules.check_dummy_rows(backend, Case("", rows, *layout_of(case)), device)


def check_room(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    if backend.capturable:
        rules.check_nothing_else_is_written(backend, case, device)


def check_replay(
    backend: AttentionBackend, case: Case, device: torch.device, recorded: bool, kind: str
) -> None:
    if backend.capturable:
        rules.check_replay(backend, case, *REPLAYS[kind], device, recorded)


def layout_of(case: Case) -> tuple[int, tuple[int, int], int, torch.dtype]:
    return case.block_size, case.heads, case.head_dim, case.dtype


def rehearse(name: str, device: torch.device) -> None:
    """Launch what the cases launch, whatever comes out of it.

    Nothing is recorded: a recording that fails would leave the device's generator of noise within it.
    """
    for _, case, check in checks(device, recorded=False):
        backend = build_backend(name, device, case.dtype, case.head_dim, case.block_size)
        if not isinstance(backend, str):
            with contextlib.suppress(Exception):
                check(backend)


def conformance(name: str, device: torch.device) -> dict[str, Any]:
    """How many cases a backend passed, which failed and why, and the reasons for those it does not serve."""
    passed, failed, refused = 0, [], set()
    began = time.perf_counter()
    if device.type == "cuda" and name != "sdpa":  # which has no kernels of ours
        compile_ahead(lambda: rehearse(name, device), f"conformance of {name}")
    for title, case, check in checks(device, recorded=device.type == "cuda"):
        backend = build_backend(name, device, case.dtype, case.head_dim, case.block_size)
        if isinstance(backend, str):
            refused.add(backend)
            continue
        try:
            check(backend)
            passed += 1
        except Exception as error:
            failed.append({"case": title, "error": f"{type(error).__name__}: {error}"[:500]})
            print(f"FAILED {name}: {title}\n       {failed[-1]['error']}", flush=True)
    seconds = round(time.perf_counter() - began, 1)
    print(f"{name:14} {passed} passed, {len(failed)} failed, {seconds} s; {sorted(refused)[:6]}", flush=True)
    return {"passed": passed, "failed": failed, "refused": sorted(refused), "seconds": seconds}


def times(device: torch.device, copy_rate: float) -> list[dict[str, Any]]:
    """Microseconds per layer of every backend, step and block size, printed as they come."""
    rows = []
    print(f"\n{'step':24} {'block':>5} {'backend':14} {'us/layer':>9} {'GB/s':>6} {'of copy':>7}")
    for block_size in TIMED_BLOCK_SIZES:
        for name in BACKENDS:
            backend = build_backend(name, device, torch.bfloat16, HEAD_DIM, block_size)
            if not isinstance(backend, str):
                rows += [time_step(backend, *step, block_size, device, copy_rate) for step in steps()]
    return rows


def steps() -> Iterator[tuple[str, AttentionBatch]]:
    for batch, context in DECODES:
        yield f"decode {batch} x {context}", AttentionBatch([context - 1] * batch, [1] * batch, [[]] * batch)
    for rows, tokens in PREFILLS:
        yield f"prefill {rows} x {tokens}", AttentionBatch([0] * rows, [tokens] * rows, [[]] * rows)


def time_step(
    backend: AttentionBackend,
    step: str,
    batch: AttentionBatch,
    block_size: int,
    device: torch.device,
    copy_rate: float,
) -> dict[str, Any]:
    row = {"step": step, "block_size": block_size, "backend": backend.name}
    try:
        seconds = seconds_per_layer(backend, batch, device, torch.bfloat16, HEAD_DIM, block_size, HEADS)
    except Exception as error:
        print(f"{step:24} {block_size:>5} {backend.name:14} failed: {error}", flush=True)
        return {**row, "error": str(error)[:500]}
    rate = sum(batch.context_lens) * 2 * HEADS[1] * HEAD_DIM * 2 / seconds
    print(
        f"{step:24} {block_size:>5} {backend.name:14} {seconds * 1e6:9.2f} {rate / 1e9:6.0f} "
        f"{rate / copy_rate:7.1%}",
        flush=True,
    )
    return {**row, "microseconds_per_layer": seconds * 1e6, "kv_bytes_per_second": rate}


def copy_bytes_per_second(device: torch.device) -> float:
    """Bytes read and written per second by a copy of 1 GiB on the device."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    target.copy_(source)
    begin.record()
    for _ in range(20):
        target.copy_(source)
    end.record()
    end.synchronize()
    return 20 * 2 * source.nbytes / (begin.elapsed_time(end) / 1e3)


def machine(device: torch.device) -> dict[str, Any]:
    """What the numbers depend on."""
    installed = {name: version_of(name) for name in ("torch", "triton", "flash_attn", "numpy")}
    facts: dict[str, Any] = {"python": platform.python_version(), "versions": installed}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        facts |= {
            "gpu": properties.name,
            "processors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "cuda": torch.version.cuda,
            "copy_bytes_per_second": copy_bytes_per_second(device),
        }
    return facts


def version_of(package: str) -> str | None:
    try:
        return packages.version(package)
    except packages.PackageNotFoundError:
        return None


def chosen_by_auto(device: torch.device) -> dict[str, str]:
    """The backend that `auto` takes for each block size; its log says why."""
    return {
        str(block_size): select_backend("auto", device, torch.bfloat16, HEAD_DIM, block_size, HEADS).name
        for block_size in TIMED_BLOCK_SIZES
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="where the results go")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--backends", default=",".join(BACKENDS), help="whose conformance is checked")
    parser.add_argument("--no-times", action="store_true", help="conformance alone")
    arguments = parser.parse_args()
    names = arguments.backends.split(",")
    if unknown := set(names) - set(BACKENDS):
        parser.error(f"no such backend: {', '.join(sorted(unknown))}")
    device = device_of(arguments.device)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    report: dict[str, Any] = {"machine": machine(device)}
    print(json.dumps(report["machine"]), flush=True)
    with torch.inference_mode():
        report["conformance"] = {name: conformance(name, device) for name in names}
    if device.type == "cuda" and not arguments.no_times:
        report["times"] = times(device, report["machine"]["copy_bytes_per_second"])
        report["auto"] = chosen_by_auto(device)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if any(result["failed"] for result in report["conformance"].values()):
        raise SystemExit("some cases failed")


if __name__ == "__main__":
    main()
