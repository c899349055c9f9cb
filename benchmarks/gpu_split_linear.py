"""Products of few rows whose work is spread evenly, on a GPU: right, and how long they take along VoxCPM2.

    python3 -m benchmarks.gpu_split_linear --output FILE [--no-sweep] [--only "DiT 22"]

1. The products and sum with norm against fp32, next to what torch's bf16 products err.
2. Sweep: tilings of every product alone, weights not in the L2 cache; the best few go into the chain one
   after the other, and what is fastest there is kept.
3. The chain of a layer in one CUDA graph: by torch, by `skinny_linear`, and by `split_linear` with the
   rule's tilings, with programmatic dependent launch and plainly (equal bit by bit), and with the best.

Kernels are compiled beforehand by as many processes as there are cores. Ends with the table and the measured
tilings, to be kept in `engine/kernels/split_tiling.py`. Exits non-zero when a result is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu_linear_chain import (
    ATTENDED,
    EPS,
    PRODUCTS,
    STACKS,
    Chain,
    Stack,
    random_weights,
    reference,
    run_product,
    seconds,
    stand_in_kernel,
)  # fmt: skip
from engine.kernels import norm as norm_module
from engine.kernels import split_linear as module
from engine.kernels.launch import launch_options
from engine.kernels.norm import rms_norm
from engine.kernels.skinny_linear import MAX_ROWS as SKINNY_ROWS
from engine.kernels.skinny_tiling import tiling_for
from engine.kernels.split_linear import add_and_norm, partial_linear, split_linear
from engine.kernels.split_tiling import PROGRAMS, SplitTiling, registers, row_tiles, split_tiling

TRIED_ALONE, TRIED_IN_CHAIN = 13, 4
COLD_BYTES = 150e6
MEMORY_RATE = 4.17e12
"""Bytes/s of a copy on the H200 that the reports refer to."""
DIT, LM = (next(stack for stack in STACKS if stack.name == name) for name in ("DiT", "LM"))
CASES = [(LM, (1, 2, 4)), (DIT, (22, 18)), (DIT, (5,)), (DIT, (44,)), (DIT, (33,)), (LM, (16,)), (LM, (32,))]
"""Stacks and numbers of rows that share a tile; the first of them is swept."""
Tilings = dict[str, SplitTiling]


def kind(product: str) -> tuple[bool, bool]:
    """Whether a product is gated, and whether K may be shared out."""
    return product == "gate_up", product in ("o", "down")


def candidates(stack: Stack, rows: int, product: str) -> list[SplitTiling]:
    """For each way to form programs, those with the evenest load on the memory path first, up to two tilings
    that fit the registers: all of a program's operands under way at once, and a leaner one."""
    (outputs, size), (gated, split), tiles = stack.shape(product), kind(product), sum(row_tiles(rows))
    found: dict[SplitTiling, float] = {}
    for tile, splits, warps in itertools.product((16, 32, 64), (1, 2, 4, 8) if split else (1,), (4, 8, 16)):
        part, programs = size // splits, outputs // tile * splits
        if outputs % tile or not 60 <= programs <= 400:
            continue
        room, kept = min(255, 65536 // (32 * warps)) - 24, set()
        for per_warp in (256, 128, 64, 32):
            step, steps = warps * per_warp, part // (warps * per_warp)
            if not 1 <= steps <= 16 or part % step:
                continue
            for early, ahead in ((steps, steps), (steps, 1), (max(1, steps // 2), 1)):
                tiling, lean = SplitTiling(tile, splits, step, warps, early, ahead), ahead < steps
                if lean not in kept and registers(tiles, size, gated, tiling) <= room:
                    kept.add(lean)
                    found[tiling] = -(-programs // PROGRAMS) * part * (tile * (1 + gated) + rows)
    least = min(found.values())
    ranked = sorted((t for t in found if found[t] <= 2 * least), key=lambda t: found[t])
    return list(dict.fromkeys([split_tiling(rows, outputs, size, gated, split), *ranked[:TRIED_ALONE]]))


def run_split(product: str, x: Tensor, weight: Tensor, tiling: SplitTiling | None = None) -> Tensor:
    gated, split = kind(product)
    if split:
        return partial_linear(x, weight, tiling=tiling)
    return split_linear(x, weight, gated=gated, tiling=tiling)


def run_chain(hidden: Tensor, weights: list[dict[str, Tensor]], norm: Tensor, tilings: Tilings) -> Tensor:
    """hidden [M, H] after the layers, each with its norms of weight `norm` and the stand-in for attention."""
    options = module.launch_options(hidden.device)
    normed = rms_norm(hidden, norm, EPS)
    for layer in weights:
        qkv = run_split("qkv", normed, layer["qkv"], tilings["qkv"])
        attended = hidden.new_empty(len(hidden), ATTENDED)
        stand_in_kernel[(len(hidden),)](qkv, attended, SIZE=ATTENDED, WIDTH=2560, **options)
        partials = run_split("o", attended, layer["o"], tilings["o"])
        hidden, normed = add_and_norm(partials, hidden, norm, EPS)
        gated = run_split("gate_up", normed, layer["gate_up"], tilings["gate_up"])
        partials = run_split("down", gated, layer["down"], tilings["down"])
        hidden, normed = add_and_norm(partials, hidden, norm, EPS)
    return hidden


@contextmanager
def launched_plainly() -> Iterator[None]:
    module.launch_options = norm_module.launch_options = lambda device: {"PDL": False}
    try:
        yield
    finally:
        module.launch_options = norm_module.launch_options = launch_options


def compile_one(task: tuple[Stack, int, str, SplitTiling | None, bool]) -> str | None:
    """Runs a product once, which leaves its kernel in Triton's cache; the error, if any."""
    stack, rows, product, tiling, early = task
    outputs, size = stack.shape(product)
    options: dict[str, Any] = {"dtype": torch.bfloat16, "device": "cuda"}
    x, weight = torch.zeros(rows, size, **options), torch.zeros(2 * outputs, size, **options)
    weight = weight if product == "gate_up" else weight[:outputs]
    try:
        if tiling is None:
            run_product(product, x, weight, x[0], torch.zeros(rows, outputs, **options))
        elif early:
            run_split(product, x, weight, tiling)
        else:
            with launched_plainly():
                run_split(product, x, weight, tiling)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{stack.name} {rows} {product} {tiling}: {type(error).__name__} {str(error)[:100]}"
    return None


def compile_all(cases: list[tuple[Stack, tuple[int, ...]]], sweep: bool) -> None:
    tasks: list[tuple[Stack, int, str, SplitTiling | None, bool]] = []
    for (stack, (rows, *_)), product in itertools.product(cases, PRODUCTS):
        rule = split_tiling(rows, *stack.shape(product), *kind(product))
        tasks += [
            (stack, rows, product, t, True) for t in (candidates(stack, rows, product) if sweep else [rule])
        ]
        tasks += [(stack, rows, product, None, True), (stack, rows, product, rule, False)]
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(15, os.cpu_count() or 1), mp_context=context) as pool:
        errors = [error for error in pool.map(compile_one, tasks) if error]
    print(f"{len(tasks)} kernels compiled in {time.perf_counter() - begin:.0f} s", *errors[:5], sep="\n")


def error_of(actual: Tensor, exact: Tensor) -> float:
    return float((actual.float() - exact).norm() / exact.norm())


def check(cases: list[tuple[Stack, tuple[int, ...]]]) -> bool:
    """False where a result is much further from fp32 than that of torch in bf16."""
    passed = True
    for stack, row_counts in cases:
        (layer,) = random_weights(stack, 1)
        for product, rows in itertools.product(PRODUCTS, row_counts):
            outputs, size = stack.shape(product)
            x = torch.randn(rows, size, dtype=torch.bfloat16, device="cuda")
            residual = torch.randn(rows, outputs, dtype=torch.bfloat16, device="cuda")
            one, norm = torch.ones_like(x[0]), torch.rand_like(residual[0]) + 0.5
            given = rms_norm(x, one, EPS) if product in ("qkv", "gate_up") else x
            operands = (product, x, layer[product], one, residual)
            exact = reference(product, *(t.float() for t in operands[1:]))
            actual = run_split(product, given, layer[product])
            pairs = [(actual, exact, reference(*operands))]
            if kind(product)[1]:
                hidden, normed = add_and_norm(actual, residual, norm, EPS)
                rounded = torch.nn.functional.rms_norm(hidden.float(), norm.shape, norm.float(), EPS)
                pairs = [(hidden, exact, pairs[0][2]), (normed, rounded, rounded.bfloat16())]
            for ours, wanted, theirs in pairs:
                if not error_of(ours, wanted) <= 1.5 * error_of(theirs, wanted) + 1e-3:
                    passed = False
                    print(f"WRONG: {stack.name} {product} {rows} rows: error {error_of(ours, wanted):.2e}")
    return passed


def sweep_product(stack: Stack, rows: int, product: str) -> list[tuple[float, SplitTiling]]:
    """Time of the product alone for every tiling, shortest first."""
    outputs, size = stack.shape(product)
    copies = int(COLD_BYTES / stack.num_bytes(product)) + 1
    weights = torch.randn(
        copies, outputs * (1 + (product == "gate_up")), size, dtype=torch.bfloat16, device="cuda"
    )
    x = torch.randn(rows, size, dtype=torch.bfloat16, device="cuda")

    def time_of(tiling: SplitTiling) -> float:
        def run() -> None:
            for weight in weights:
                run_split(product, x, weight, tiling)

        try:
            return seconds(run, repeats=3, runs=2) / copies
        except Exception as error:
            print(f"{product} {tiling}: {type(error).__name__}")
            return float("inf")

    tilings = candidates(stack, rows, product)
    return sorted(((time_of(tiling), tiling) for tiling in tilings), key=lambda pair: pair[0])


class Case:
    """A stack at some number of rows: the chains of its layers, and the best tilings."""

    def __init__(self, stack: Stack, rows: int, weights: list[dict[str, Tensor]]) -> None:
        self.stack, self.rows, self.chain = stack, rows, Chain(stack, rows, weights)
        self.rule = {p: split_tiling(rows, *stack.shape(p), *kind(p)) for p in PRODUCTS}

    def seconds(self, tilings: Tilings) -> tuple[float, Tensor]:
        """Time of a layer, and what the layers make of the hidden states."""
        chain, result = self.chain, torch.empty_like(self.chain.start)

        def run() -> None:
            torch.mul(run_chain(chain.start, chain.weights, chain.norm, tilings), 1.0, out=result)

        return seconds(run, repeats=5, runs=4) / chain.layers, result

    def sweep(self, report: dict[str, Any]) -> Tilings:
        ranked = {product: sweep_product(self.stack, self.rows, product) for product in PRODUCTS}
        chosen = {product: ranked[product][0][1] for product in PRODUCTS}
        shortest = self.seconds(chosen)[0]
        for product in PRODUCTS:
            for _, tiling in ranked[product][1:TRIED_IN_CHAIN]:
                tried = {**chosen, product: tiling}
                if (taken := self.seconds(tried)[0]) < shortest:
                    chosen, shortest = tried, taken
            best = " ".join(f"{t * 1e6:.2f}:{brief(tiling)}" for t, tiling in ranked[product][:3])
            print(f"  {product:8}{best}  kept {brief(chosen[product])}", flush=True)
            report[product] = [(taken * 1e6, brief(tiling)) for taken, tiling in ranked[product]]
        return chosen

    def measure(self, best: Tilings | None) -> tuple[dict[str, float], bool]:
        """Seconds of a layer each way, and whether the results are as they should be."""
        chain = self.chain
        times = {"torch": seconds(chain.run_torch, repeats=5) / chain.layers}
        exact = chain.hidden.float()
        if self.rows <= SKINNY_ROWS:
            skinny = {p: tiling_for(self.rows, *self.stack.shape(p), p == "gate_up") for p in PRODUCTS}
            times["skinny"] = chain.seconds(skinny)
        times["rule"], by_rule = self.seconds(self.rule)
        with launched_plainly():
            times["plain"], plainly = self.seconds(self.rule)
        near = error_of(by_rule, exact) < 0.05 and torch.equal(by_rule, plainly)
        if best:
            times["best"], result = self.seconds(best)
            near &= error_of(result, exact) < 0.05
        return times, near


def brief(tiling: SplitTiling) -> str:
    return "/".join(str(value) for value in dataclasses.astuple(tiling))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--only", default="", help='such as "DiT 22"')
    arguments = parser.parse_args()
    begin = time.perf_counter()
    cases = [case for case in CASES if arguments.only in f"{case[0].name} {case[1][0]}"]
    compile_all(cases, not arguments.no_sweep)
    passed = check(cases)
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "sweeps": {},
        "layers": {},
        "measured": [],
    }
    table, weights, last = [], [], None
    print("sweeps: outputs/splits/step/warps/early/ahead, us alone")
    for stack, row_counts in cases:
        if stack is not last:
            weights, last = [], stack
            weights = random_weights(stack, stack.layers)
        best = None
        for rows in row_counts:
            case = Case(stack, rows, weights)
            if rows == row_counts[0] and not arguments.no_sweep:
                print(f" {stack.name} {rows} ({time.perf_counter() - begin:.0f} s)", flush=True)
                best = case.sweep(report["sweeps"].setdefault(f"{stack.name} {rows}", {}))
                key = sum(row_tiles(rows))
                for p, tiling in best.items():
                    entry = f"{(key, *stack.shape(p), *kind(p))}: SplitTiling{dataclasses.astuple(tiling)},"
                    report["measured"].append(entry)
            times, near = case.measure(best)
            passed &= near
            report["layers"][f"{stack.name} {rows}"] = {name: value * 1e6 for name, value in times.items()}
            figures = "  ".join(f"{name} {value * 1e6:6.2f}" for name, value in times.items())
            table.append(f"{stack.name:4}{rows:3} rows: {figures}{'' if near else '  RESULTS DIFFER'}")
            print(table[-1], flush=True)
            report["passed"] = passed
            if arguments.output:
                arguments.output.write_text(json.dumps(report, indent=1))
    for stack in (LM, DIT):
        floor = sum(map(stack.num_bytes, PRODUCTS)) / MEMORY_RATE
        print(f"{stack.name}: weights at {MEMORY_RATE / 1e12} TB/s: {floor * 1e6:.2f} us a layer")
    print("MEASURED = {", *(f"    {line}" for line in report["measured"]), "}", sep="\n")
    print("us per layer", *table, sep="\n")
    print(f"{'passed' if passed else 'FAILED'} in {time.perf_counter() - begin:.0f} s")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
