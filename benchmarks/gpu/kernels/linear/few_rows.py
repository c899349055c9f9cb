"""Linear layers of few rows on a GPU: right, and how long they take along the layers of VoxCPM2.

    python3 -m benchmarks.gpu.kernels.linear.few_rows --output FILE [--no-sweep] [--only "LM 1" "DiT 22"]

1. The products and sum with norm against fp32, next to what torch's bf16 products err.
2. Sweep: tilings near the known ones of every product alone, weights not in the L2 cache; the best few go
   into the chain one after the other, and what is fastest there is kept.
3. The chain of a layer in one CUDA graph: by torch, with the known tilings with programmatic dependent launch
   and plainly (equal bit by bit), and with the best.

Kernels are compiled beforehand by as many processes as there are cores. Ends with the table and the measured
tilings, to be kept in `engine/kernels/linear/split_tiling.py`. Exits non-zero when a result is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.linear.chain import (
    DIT,
    EPS,
    LM,
    PRODUCTS,
    Chain,
    Stack,
    Tilings,
    Weights,
    kind,
    random_weights,
    reference,
    run_product,
)
from benchmarks.gpu.kernels.timing import launched_plainly, seconds
from engine.kernels.linear.split_tiling import (
    REGISTERS,
    SplitTiling,
    registers,
    row_tiles,
    rule_tiling,
    split_tiling,
)
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.norms.norm import rms_norm

TRIED_ALONE, TRIED_IN_CHAIN = 26, 5
FEWEST_PROGRAMS, MOST_PROGRAMS = 80, 800
COLD_BYTES = 150e6
MEMORY_RATE = 4.17e12
"""Bytes/s of a copy on the H200 that the reports refer to."""
CASES = [(LM, (1, 2, 4)), (DIT, (22, 18)), (DIT, (5,)), (DIT, (44,)), (DIT, (33,)), (LM, (16,)), (LM, (32,))]
"""Stacks and numbers of rows that share a tile; the first of them is swept."""
Task = tuple[Stack, int, str, SplitTiling, bool]
"""A product by a tiling, and whether it is launched with programmatic dependent launch."""


def known_tiling(stack: Stack, rows: int, product: str) -> SplitTiling:
    return split_tiling(rows, *stack.shape(product), *kind(product))


def candidates(stack: Stack, rows: int, product: str) -> list[SplitTiling]:
    """The known tiling, the rule's, and those around the two that fit the registers, nearest first."""
    (outputs, size), (gated, split), tiles = stack.shape(product), kind(product), sum(row_tiles(rows))
    centres = [known_tiling(stack, rows, product), rule_tiling(tiles, outputs, size, gated, split)]
    found: dict[SplitTiling, float] = {}
    for tile, splits, warps, per_warp in itertools.product(
        (16, 32, 64), (1, 2, 4, 8) if split else (1,), (1, 2, 4, 8), (32, 64, 128, 256, 512)
    ):
        part, step = size // splits, warps * per_warp
        if step > part or not FEWEST_PROGRAMS <= outputs * splits // tile <= MOST_PROGRAMS:
            continue
        steps = -(-part // step)
        for early, ahead in itertools.product({steps, -(-steps // 2), -(-steps // 4), 1}, {1, min(2, steps)}):
            tiling = SplitTiling(tile, splits, step, warps, early, ahead)
            if registers(tiles, size, gated, tiling) <= REGISTERS:
                found[tiling] = min(distance(tiling, centre) for centre in centres)
    return list(dict.fromkeys([*centres, *sorted(found, key=lambda t: found[t])]))[:TRIED_ALONE]


def distance(one: SplitTiling, other: SplitTiling) -> float:
    """By how many powers of two they differ, the weights a warp has under way among them."""
    pairs = zip(scales(one), scales(other), strict=True)
    return sum(abs(math.log2(a / b)) for a, b in pairs)


def scales(tiling: SplitTiling) -> tuple[float, ...]:
    under_way = tiling.step * tiling.early * tiling.outputs / tiling.warps
    return tiling.outputs, tiling.splits, tiling.warps, tiling.step, under_way, tiling.ahead


def compile_one(task: Task) -> str | None:
    """Runs a product once, which leaves its kernel in Triton's cache; the error, if any."""
    stack, rows, product, tiling, early = task
    outputs, size = stack.shape(product)
    x = torch.zeros(rows, size, dtype=torch.bfloat16, device="cuda")
    weight = torch.zeros(2 * outputs, size, dtype=torch.bfloat16, device="cuda")
    try:
        with nullcontext() if early else launched_plainly():
            run_product(product, x, weight if product == "gate_up" else weight[:outputs], tiling)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{stack.name} {rows} {product} {tiling}: {type(error).__name__} {str(error)[:100]}"
    return None


def compile_all(cases: list[tuple[Stack, tuple[int, ...]]], sweep: bool) -> None:
    tasks: list[Task] = []
    for (stack, (rows, *_)), product in itertools.product(cases, PRODUCTS):
        known = known_tiling(stack, rows, product)
        tasks.append((stack, rows, product, known, False))
        tried = candidates(stack, rows, product) if sweep else [known]
        tasks += [(stack, rows, product, tiling, True) for tiling in tried]
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
            actual = run_product(product, given, layer[product])
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
                run_product(product, x, weight, tiling)

        try:
            return seconds(run, repeats=3, runs=2) / copies
        except Exception as error:
            print(f"{product} {tiling}: {type(error).__name__}")
            return float("inf")

    tilings = candidates(stack, rows, product)
    return sorted(((time_of(tiling), tiling) for tiling in tilings), key=lambda pair: pair[0])


class Case:
    """A stack at some number of rows: the chain of its layers, and the best tilings."""

    def __init__(self, stack: Stack, rows: int, weights: Weights) -> None:
        self.stack, self.rows, self.chain = stack, rows, Chain(stack, rows, weights)
        self.known = {product: known_tiling(stack, rows, product) for product in PRODUCTS}

    def sweep(self, report: dict[str, Any]) -> Tilings:
        chosen, shortest = self.known, self.chain.seconds(self.known)[0]
        for product in PRODUCTS:
            ranked = sweep_product(self.stack, self.rows, product)
            for _, tiling in ranked[:TRIED_IN_CHAIN]:
                tried = {**chosen, product: tiling}
                if (taken := self.chain.seconds(tried)[0]) < shortest:
                    chosen, shortest = tried, taken
            best = " ".join(f"{t * 1e6:.2f}:{brief(tiling)}" for t, tiling in ranked[:3])
            print(f"  {product:8}{best}  kept {brief(chosen[product])}", flush=True)
            report[product] = [(taken * 1e6, brief(tiling)) for taken, tiling in ranked]
        return chosen

    def measure(self, best: Tilings | None) -> tuple[dict[str, float], bool]:
        """Seconds of a layer each way, and whether the results are as they should be."""
        times = {}
        times["torch"], exact = self.chain.seconds(None)
        times["known"], result = self.chain.seconds(self.known)
        with launched_plainly():
            times["plain"], plainly = self.chain.seconds(self.known)
        near = error_of(result, exact.float()) < 0.05 and torch.equal(result, plainly)
        if best:
            times["best"], result = self.chain.seconds(best)
            near &= error_of(result, exact.float()) < 0.05
        return times, near


def brief(tiling: SplitTiling) -> str:
    return "/".join(str(value) for value in dataclasses.astuple(tiling))


def run_case(case: Case, sweep: bool, report: dict[str, Any]) -> str:
    """Measures a case; -> its line of the table."""
    name, best = f"{case.stack.name} {case.rows}", None
    if sweep:
        print(f" {name}", flush=True)
        best = case.sweep(report["sweeps"].setdefault(name, {}))
        tiles = sum(row_tiles(case.rows))
        for product, tiling in best.items():
            key = (tiles, *case.stack.shape(product), *kind(product))
            report["measured"].append(f"{key}: SplitTiling{dataclasses.astuple(tiling)},")
    times, near = case.measure(best)
    report["passed"] &= near
    report["layers"][name] = {way: value * 1e6 for way, value in times.items()}
    figures = "  ".join(f"{way} {value * 1e6:6.2f}" for way, value in times.items())
    return f"{case.stack.name:4}{case.rows:3} rows: {figures}{'' if near else '  RESULTS DIFFER'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--only", nargs="+", help='of the cases that are swept, such as "DiT 22" "LM 1"')
    arguments = parser.parse_args()
    named = {f"{stack.name} {rows[0]}": (stack, rows) for stack, rows in CASES}
    if unknown := set(arguments.only or ()) - set(named):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    device_of()
    begin, sweep = time.perf_counter(), not arguments.no_sweep
    cases = [case for name, case in named.items() if not arguments.only or name in arguments.only]
    compile_all(cases, sweep)
    report: dict[str, Any] = {"device": torch.cuda.get_device_name(), "passed": check(cases)}
    report |= {"sweeps": {}, "layers": {}, "measured": []}
    weights = {stack.name: random_weights(stack, stack.layers) for stack in (LM, DIT)}
    table = []
    print("sweeps: outputs/splits/step/warps/early/ahead, us alone")
    for stack, row_counts in cases:
        for rows in row_counts:
            case = Case(stack, rows, weights[stack.name])
            table.append(run_case(case, sweep and rows == row_counts[0], report))
            print(f"{table[-1]}  ({time.perf_counter() - begin:.0f} s)", flush=True)
            if arguments.output:
                arguments.output.parent.mkdir(parents=True, exist_ok=True)
                arguments.output.write_text(json.dumps(report, indent=1))
    for stack in (LM, DIT):
        floor = sum(map(stack.num_bytes, PRODUCTS)) / MEMORY_RATE
        print(f"{stack.name}: weights at {MEMORY_RATE / 1e12} TB/s: {floor * 1e6:.2f} us a layer")
    print("MEASURED = {", *(f"    {line}" for line in report["measured"]), "}", sep="\n")
    print("us per layer", *table, sep="\n")
    print(f"{'passed' if report['passed'] else 'FAILED'} in {time.perf_counter() - begin:.0f} s")
    sys.exit(not report["passed"])


if __name__ == "__main__":
    main()
