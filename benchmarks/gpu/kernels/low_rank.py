"""What the low-rank additions of adapters cost on a GPU, behind the products that they belong to.

    python3 -m benchmarks.gpu.kernels.low_rank [--sweep] [--rank 32]

For q, k, v and for o of VoxCPM2's language model and DiT, at one stream and at 64: microseconds that the
addition takes in a CUDA graph of a chain of products, by how many streams have an adapter (each its own): as
layers do it (no tiling named), and by kernels around the product. With --sweep these are tried with other
tilings. Ends with JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.timing import seconds
from engine.kernels.linear.split_linear import fits, partial_linear, split_linear
from engine.kernels.low_rank.around import LowRankTiling, expand_, low_rank_tiling, shrink
from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros, signals
from engine.layers.low_rank import LowRankPlace, turns_of
from models.transformer.products import LINEAR, SPLIT

LAYERS, SLOTS = 12, 32
"""Of a chain, with weights and slots of its own each, so that they are not all in the L2 cache."""
CASES = {
    "LM qkv": ((2048, 256, 256), 2048, 1, 1),
    "LM o": ((2048,), 2048, 1, 1),
    "DiT qkv": ((2048, 256, 256), 1024, 2, 11),
    "DiT o": ((1024,), 2048, 2, 11),
}
"""Outputs of the parts, inputs, branches, and rows of a stream in each."""


class Case:
    """A chain of one product at some number of streams."""

    def __init__(self, name: str, streams: int, rank: int, layers: int = LAYERS) -> None:
        parts, size, branches, repeat = CASES[name]
        self.name, self.streams, self.branches, outputs = name, streams, branches, sum(parts)
        rows = streams * branches * repeat
        self.x = torch.randn(rows, size, dtype=torch.bfloat16, device="cuda") * 0.1
        self.weights = torch.randn(layers, outputs, size, dtype=torch.bfloat16, device="cuda") * 0.02
        up = len(parts) * rank * size
        storage = torch.randn(SLOTS, layers * (up + outputs * rank), dtype=torch.bfloat16, device="cuda")
        each, told = storage.shape[1] // layers, signals(storage.device)
        self.slots = [
            LowRankSlots(storage, LowRankPlace(i * each, i * each + up, size, parts), rank, told)
            for i in range(layers)
        ]
        self.few = rows <= 64 and fits(rows, self.weights[0])

    def product(self, layer: int) -> Tensor:
        weight = self.weights[layer]
        if not self.few:
            return F.linear(self.x, weight)
        return split_linear(self.x, weight) if "qkv" in self.name else partial_linear(self.x, weight)[0]

    def of_streams(self, adapted: int) -> Tensor:
        slots = [i % SLOTS if i < adapted else -1 for i in range(self.streams)]
        return torch.from_numpy(turns_of(np.array(slots))).cuda()

    def added(self, layer: int, turns: Tensor, zeros: Zeros, tiling: LowRankTiling | None) -> None:
        """A product and what is added to it, as layers do it or, with a tiling, around it."""
        rows = LowRankRows(self.slots[layer], turns, zeros, self.branches)
        if tiling is not None:
            hidden = shrink(self.x, rows, tiling)
            expand_(self.product(layer), hidden, rows, tiling=tiling)
            return
        adding = LINEAR if not self.few else SPLIT.whole if "qkv" in self.name else SPLIT.parts
        adding(self.x, self.weights[layer], rows)

    def alone(self) -> float:
        """Microseconds of a product."""

        def run() -> None:
            for layer in range(LAYERS):
                self.product(layer)

        return 1e6 * seconds(run) / LAYERS

    def with_additions(self, adapted: int, tiling: LowRankTiling | None) -> float:
        """Microseconds of a product and what `adapted` of the streams add to it, see `added`."""
        turns = self.of_streams(adapted)

        def run() -> None:
            zeros = Zeros(turns.device)
            for layer in range(LAYERS):
                self.added(layer, turns, zeros, tiling)

        return 1e6 * seconds(run) / LAYERS


def tilings(case: Case) -> list[LowRankTiling]:
    known = low_rank_tiling(case.streams)
    tried = [
        LowRankTiling(inputs, outputs, warps)
        for inputs, outputs in itertools.product((128, 256, 512), (64, 128, 256))
        for warps in (4, 8)
    ]
    return list(dict.fromkeys([known, *tried]))


def compile_one(task: tuple[str, int, int, LowRankTiling]) -> None:
    """Launches the addition once, which leaves its kernel in Triton's cache; errors show when it is timed."""
    name, streams, rank, tiling = task
    case = Case(name, streams, rank, 1)
    try:
        for way in (tiling, None):
            case.added(0, case.of_streams(1), Zeros(case.x.device), way)
        torch.cuda.synchronize()
    except Exception as error:
        print(f"{name} {streams} {tiling}: {type(error).__name__}")


def compile_all(rank: int) -> None:
    cases = [Case(name, streams, rank, 1) for name, streams in itertools.product(CASES, (1, 64))]
    tasks = [(case.name, case.streams, rank, tiling) for case in cases for tiling in tilings(case)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(15, os.cpu_count() or 1), mp_context=context) as pool:
        list(pool.map(compile_one, tasks))


def measure(case: Case, sweep: bool) -> dict[str, Any]:
    counts = (0, 1) if case.streams == 1 else (0, 1, 8, 32, 64)
    alone = case.alone()
    rows = []
    for tiling in [None, *(tilings(case) if sweep else [low_rank_tiling(case.streams)])]:
        try:
            more = {count: round(case.with_additions(count, tiling) - alone, 2) for count in counts}
        except Exception as error:
            more = {"error": f"{type(error).__name__} {str(error)[:80]}"}
        rows.append({"tiling": tiling and dataclasses.astuple(tiling), "more_us": more})
        print(case.name, case.streams, f"{alone:.2f}", json.dumps(rows[-1]), flush=True)
    return {"case": case.name, "streams": case.streams, "product_us": round(alone, 2), "added": rows}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--sweep", action="store_true")
    chosen = parser.parse_args()
    device_of()
    if chosen.sweep:
        compile_all(chosen.rank)
    found = []
    for name, streams in itertools.product(CASES, (1, 64)):
        found.append(measure(Case(name, streams, chosen.rank), chosen.sweep))
        torch.cuda.empty_cache()
    print(json.dumps({"device": torch.cuda.get_device_name(), "rank": chosen.rank, "cases": found}))


if __name__ == "__main__":
    main()
