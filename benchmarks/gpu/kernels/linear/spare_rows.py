"""Products of the matrix library with a few rows more than there are.

    python3 -m benchmarks.gpu.kernels.linear.spare_rows [--shape voxcpm2] [--output FILE]

For products of a DiT and the rows of its steps: microseconds of a product of just these rows, of as
many as `engine.kernels.linear.spare_rows` takes, and of the fastest of up to 104 more. Then microseconds of a
layer, attention included: without spare rows, in two halves of K without them, and as it is. What comes of it
for whole steps `benchmarks.gpu.many_rows --without spare_rows` measures.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.gpu.kernels.dits import SHAPES, dit_of
from benchmarks.gpu.kernels.linear.halves import ALWAYS, layer_us, report
from benchmarks.gpu.kernels.timing import seconds
from engine.kernels.linear.halved_linear import PAYING_ROWS
from engine.kernels.linear.spare_rows import FASTER_ROWS
from models.transformer.fused import fuse_layers

STREAMS = (*range(24, 32, 4), *range(32, 128, 8), *range(128, 257, 16))
MOST, STEP = 104, 8
"""Rows to spare that are tried, and between two tries."""
ADDED = 1024
"""Outputs of the products that are added to what is there, in every release."""
HALVED_OTHERWISE = (704, 1408)
"""Rows whose two products that are added would be in halves of K if there were none to spare."""
WEIGHTS, PRODUCTS = 12, 24
DEVICE = "cuda"


def product_us(weights: list[Tensor], num_rows: int) -> float:
    """Of one product in a chain, each of other weights."""
    outputs, size = weights[0].shape
    x = torch.randn(num_rows, size, dtype=torch.bfloat16, device=DEVICE)
    y = torch.zeros(num_rows, outputs, dtype=torch.bfloat16, device=DEVICE)

    def run() -> None:
        for number in range(PRODUCTS):
            weight = weights[number % WEIGHTS]
            if outputs == ADDED:
                y.addmm_(x, weight.t(), alpha=0.01)
            else:
                F.linear(x, weight)

    return round(1e6 * seconds(run) / PRODUCTS, 2)


def products(shape: str) -> list[dict[str, Any]]:
    dit, found = dit_of(shape), []
    for outputs, size in dit.products().values():
        told = FASTER_ROWS.get((outputs, size), {})
        weights = [
            torch.randn(outputs, size, dtype=torch.bfloat16, device=DEVICE) * size**-0.5
            for _ in range(WEIGHTS)
        ]
        for rows in dit.rows(STREAMS):
            taken = {more: product_us(weights, more) for more in range(rows, rows + MOST + 1, STEP)}
            fastest = min(taken, key=taken.__getitem__)
            row = {"outputs": outputs, "inputs": size, "rows": rows, "own_us": taken[rows]}
            if rows in told:
                row |= {"told": told[rows], "told_us": taken[told[rows]]}
            row |= {"fastest": fastest, "fastest_us": taken[fastest]}
            print(json.dumps(row), flush=True)
            found.append(row)
    return found


def layers(shape: str) -> list[dict[str, Any]]:
    dit, found = dit_of(shape), []
    plain, hidden = dit.stack(DEVICE), dit.config.hidden_size
    whole, halved, now = (copy.deepcopy(plain) for _ in range(3))
    fuse_layers(whole, few_rows=0, halved_rows=())
    fuse_layers(halved, few_rows=0, halved_rows=(ALWAYS,))
    fuse_layers(now, few_rows=0)
    for rows in dit.rows(STREAMS):
        x = torch.randn(rows // dit.length, dit.length, hidden, device=DEVICE, dtype=torch.bfloat16)
        row = {"rows": rows, "now_us": layer_us(now, x)}
        with none_to_spare():
            row |= {"own_us": layer_us(whole, x), "halves_us": layer_us(halved, x)}
        print(json.dumps(row), flush=True)
        found.append(row)
    return found


@contextmanager
def none_to_spare() -> Iterator[None]:
    """No products of more rows than there are; of those for which that pays, two are in halves of K then."""
    told, halved = copy.deepcopy(FASTER_ROWS), PAYING_ROWS[ADDED]
    for rows in FASTER_ROWS.values():
        rows.clear()
    PAYING_ROWS[ADDED] = (*halved, *(range(rows, rows + 1) for rows in HALVED_OTHERWISE))
    try:
        yield
    finally:
        FASTER_ROWS.update(told)
        PAYING_ROWS[ADDED] = halved


if __name__ == "__main__":
    report(__doc__, {"products": products, "layers": layers}, SHAPES)
