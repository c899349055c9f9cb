"""Linear layers of few rows on a GPU: right, and how long they take along the layers of VoxCPM2.

    python3 -m benchmarks.gpu_linear --output FILE [--no-sweep]

1. Every product at several numbers of rows against fp32, next to what torch's bf16 product errs.
2. Sweep: every sensible tiling of every product alone, over more weights than the L2 cache holds; the best
   few go into the chain of a layer one after the other, and what is fastest there is kept.
3. The chain norm + qkv, a stand-in for attention, o + residual, norm + gate_up, down + residual over several
   layers in one CUDA graph: by torch, launched plainly, with programmatic dependent launch, and with weights
   fetched into the L2 cache one or two products ahead. The launches' results have to be equal bit by bit.

Kernels are compiled beforehand by as many processes as there are cores. Ends with the measured tilings, to be
kept in `engine/kernels/skinny_tiling.py`. Exits non-zero when a result is wrong.
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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu_linear_chain import (
    PRODUCTS,
    STACKS,
    Chain,
    Stack,
    Tilings,
    Weights,
    launched_plainly,
    random_weights,
    reference,
    run_product,
    seconds,
)  # fmt: skip
from engine.kernels.skinny_tiling import Tiling, padded_rows, registers, tiling_for

BEST = 4
COLD_BYTES = 300e6
MEMORY_RATE = 4.17e12
"""Bytes/s of a copy on the H200 that the reports refer to."""


def candidates(rows: int, outputs: int, size: int, gated: bool) -> list[Tiling]:
    """The tilings whose operands and sums fit the registers, by a rough count."""
    block = padded_rows(rows)
    found = {tiling_for(rows, outputs, size, gated): None}
    for tile, warps, per_warp, share in itertools.product(
        (16, 32), (4, 8, 16), (32, 64, 128, 256), (1.0, 0.5, 0.25)
    ):
        step = warps * per_warp
        steps = -(-size // step)
        early = max(1, int(steps * share))
        if step > size or (share < 1 and early == max(1, int(steps * share * 2))):
            continue
        tiling = Tiling(tile, step, warps, early)
        room = min(255, 65536 // (32 * warps)) - 36
        if steps <= 16 and registers(block, size, gated, tiling) <= room:
            found[tiling] = None
    return list(found)


def compile_one(task: tuple[Stack, int, str, Tiling, bool]) -> str | None:
    """Runs a product once, which leaves its kernel in Triton's cache; the error, if any."""
    stack, rows, product, tiling, early_launch = task
    outputs, size = stack.shape(product)
    x, residual = torch.zeros(rows, size), torch.zeros(rows, outputs)
    x, residual = (t.to("cuda", torch.bfloat16) for t in (x, residual))
    weight = torch.zeros(outputs * (1 + (product == "gate_up")), size, dtype=torch.bfloat16, device="cuda")
    try:
        if early_launch:
            run_product(product, x, weight, x[0], residual, tiling=tiling)
        else:
            with launched_plainly():
                run_product(product, x, weight, x[0], residual, tiling=tiling)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{stack.name} {rows} {product} {tiling}: {type(error).__name__} {str(error)[:100]}"
    return None


def buckets(stack: Stack) -> list[int]:
    """One number of rows for each size of tile."""
    return list({padded_rows(rows): rows for rows in reversed(stack.rows)}.values())


def compile_all(sweep: bool) -> None:
    tasks = []
    for stack in STACKS:
        for rows, product in itertools.product(buckets(stack), PRODUCTS):
            shape = (rows, *stack.shape(product), product == "gate_up")
            tasks.append((stack, rows, product, tiling_for(*shape), False))
            tilings = candidates(*shape) if sweep else [tiling_for(*shape)]
            tasks += [(stack, rows, product, tiling, True) for tiling in tilings]
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(15, os.cpu_count() or 1), mp_context=context) as pool:
        errors = [error for error in pool.map(compile_one, tasks) if error]
    print(f"{len(tasks)} kernels compiled in {time.perf_counter() - begin:.0f} s", *errors[:5], sep="\n")


def check(report: dict[str, Any]) -> bool:
    """Relative errors against fp32; False where one is much above that of torch's own product."""
    passed = True
    for stack in STACKS:
        (layer,), worst = random_weights(stack, 1), 0.0
        for product, rows in itertools.product(PRODUCTS, (1, 5, 13, 22, 44, 64, 88)):
            weight = layer[product]
            outputs, size = stack.shape(product)
            x = torch.randn(rows, size, dtype=torch.bfloat16, device="cuda") * 2
            norm = torch.rand(size, dtype=torch.bfloat16, device="cuda") + 0.5
            residual = torch.randn(rows, outputs, dtype=torch.bfloat16, device="cuda")
            actual = run_product(product, x, weight, norm, residual)
            errors = []
            exact = reference(product, x.float(), weight.float(), norm.float(), residual.float())
            for result in (actual, reference(product, x, weight, norm, residual)):
                errors.append(float((result.float() - exact).norm() / exact.norm()))
            worst = max(worst, errors[0])
            if not errors[0] <= 1.5 * errors[1] + 1e-3:
                passed = False
                print(
                    f"WRONG: {stack.name} {product} {rows} rows: error {errors[0]:.2e}, torch {errors[1]:.2e}"
                )
        print(f"{stack.name}: largest relative error {worst:.2e}")
        report["errors"][stack.name] = worst
    return passed


def sweep_product(stack: Stack, rows: int, product: str) -> list[tuple[float, Tiling]]:
    """Time of the product alone for every tiling, shortest first."""
    outputs, size = stack.shape(product)
    copies = int(COLD_BYTES / stack.num_bytes(product)) + 1
    weights = [
        torch.randn(outputs * (1 + (product == "gate_up")), size, dtype=torch.bfloat16, device="cuda")
        for _ in range(copies)
    ]
    x = torch.randn(rows, size, dtype=torch.bfloat16, device="cuda")
    residual = torch.zeros(rows, outputs, dtype=torch.bfloat16, device="cuda")

    def time_of(tiling: Tiling) -> float:
        def run() -> None:
            for weight in weights:
                run_product(product, x, weight, x[0], residual, tiling=tiling)

        try:
            return seconds(run, repeats=3, runs=2) / copies
        except Exception as error:
            print(f"{product} {tiling}: {type(error).__name__}")
            return float("inf")

    tilings = candidates(rows, outputs, size, product == "gate_up")
    return sorted(((time_of(tiling), tiling) for tiling in tilings), key=lambda pair: pair[0])


def sweep(stack: Stack, rows: int, weights: Weights, report: dict[str, Any]) -> Tilings:
    """The best tilings: those fastest alone are tried along the chain, product by product."""
    ranked = {product: sweep_product(stack, rows, product) for product in PRODUCTS}
    chosen = {product: ranked[product][0][1] for product in PRODUCTS}
    chain = Chain(stack, rows, weights)
    shortest = chain.seconds(chosen)
    for product in PRODUCTS:
        for _, tiling in ranked[product][1:BEST]:
            tried = {**chosen, product: tiling}
            if (taken := chain.seconds(tried)) < shortest:
                chosen, shortest = tried, taken
        for taken, tiling in ranked[product][:3]:
            rate = stack.num_bytes(product) / taken / 1e9
            kept = "*" if tiling == chosen[product] else " "
            print(f"  {kept}{product:8}{taken * 1e6:6.2f} us {rate:5.0f} GB/s  {brief(tiling)}")
        report[product] = [(taken * 1e6, brief(tiling)) for taken, tiling in ranked[product][:8]]
    return chosen


def brief(tiling: Tiling) -> str:
    return "/".join(str(value) for value in dataclasses.astuple(tiling))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    parser.add_argument("--no-sweep", action="store_true")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"device": torch.cuda.get_device_name(), "errors": {}, "stacks": {}}
    begin = time.perf_counter()
    compile_all(not arguments.no_sweep)
    passed = check(report)
    measured = []
    for stack in STACKS:
        floor = sum(stack.num_bytes(product) for product in PRODUCTS) / MEMORY_RATE
        print(f"{stack.name}: us per layer; the weights at {MEMORY_RATE / 1e12} TB/s: {floor * 1e6:.2f}")
        weights, best = random_weights(stack, stack.layers), {}
        for rows in () if arguments.no_sweep else buckets(stack):
            print(f" sweep at {rows} rows: outputs/step/warps/early")
            details = report["stacks"].setdefault(f"{stack.name} sweep {rows}", {})
            best[padded_rows(rows)] = sweep(stack, rows, weights, details)
        for block, tilings in best.items():
            for product, tiling in tilings.items():
                measured.append((block, *stack.shape(product), product == "gate_up", brief(tiling)))
        for rows in stack.rows:
            rule = {p: tiling_for(rows, *stack.shape(p), p == "gate_up") for p in PRODUCTS}
            times, equal = Chain(stack, rows, weights).measure(best.get(padded_rows(rows), rule))
            passed &= equal
            figures = "  ".join(f"{name} {value * 1e6:6.2f}" for name, value in times.items())
            print(f" {rows:3} rows: {figures} {'' if equal else '  RESULTS DIFFER'}", flush=True)
            report["stacks"][f"{stack.name} {rows}"] = {name: value * 1e6 for name, value in times.items()}
    print("measured:", *measured, sep="\n  ")
    print(f"{'passed' if passed else 'FAILED'} in {time.perf_counter() - begin:.0f} s")
    report["measured"], report["passed"] = measured, passed
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1))
    sys.exit(not passed)


if __name__ == "__main__":
    main()
