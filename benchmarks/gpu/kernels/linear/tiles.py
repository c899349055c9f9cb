"""Layers of a DiT by tiles of our own (`engine.kernels.linear.tiled_linear`), and by the matrix library.

    python3 -m benchmarks.gpu.kernels.linear.tiles [--shape voxcpm2] [--output FILE]

Prints microseconds of a layer, attention over short rows included, for the rows of steps: by the library
alone, with the gate in its product's kernel by each tiling, with q, k and v by each tiling, as it is, and by
the library with no rows to spare. What comes of it for whole steps `benchmarks.gpu.many_rows --without tiles`
measures.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.gpu.kernels.dits import SHAPES, dit_of
from benchmarks.gpu.kernels.linear.halves import DEVICE, layer_us, report
from benchmarks.gpu.kernels.linear.spare_rows import none_to_spare
from engine.kernels.linear.tilings import (
    DEEP,
    GATED_TILINGS,
    LINEAR_TILINGS,
    SQUARE,
    WIDE,
    Tiling,
    Tilings,
)
from models.transformer.fused import fuse_layers

STREAMS = (4, 6, 8, 12, 16, 20, *range(24, 32, 4), *range(32, 128, 8), *range(128, 257, 16))
GATED, WHOLE = {"square": SQUARE, "wide": WIDE}, {"deep": DEEP}
WHOLE_ROWS = 704
"""Beyond, q, k and v are not tried."""


def layers(shape: str) -> list[dict[str, Any]]:
    dit, found = dit_of(shape), []
    stack, (pairs, hidden), qkv = dit.stack(DEVICE), dit.products()["gate_up"], dit.products()["qkv"]
    fuse_layers(stack, few_rows=0)
    for rows in dit.rows(STREAMS):
        x = torch.randn(rows // dit.length, dit.length, hidden, device=DEVICE, dtype=torch.bfloat16)
        row: dict[str, Any] = {"rows": rows}
        with no_tiles():
            row["library_us"] = layer_us(stack, x)
        for kind, told, tried, product in (
            ("gated", GATED_TILINGS, GATED, (pairs // 2, hidden)),
            ("whole", LINEAR_TILINGS, WHOLE if rows <= WHOLE_ROWS else {}, qkv),
        ):
            tiling = told.get(product, {}).get(rows)
            row[f"{kind}_taken"] = next((name for name, each in tried.items() if each == tiling), None)
            for name, each in tried.items():
                with only(told, product, rows, each):
                    row[f"{kind}_{name}_us"] = layer_us(stack, x)
        row["now_us"] = layer_us(stack, x)
        with no_tiles(), none_to_spare():
            row["neither_us"] = layer_us(stack, x)
        print(json.dumps(row), flush=True)
        found.append(row)
    return found


@contextmanager
def only(told: Tilings, layer: tuple[int, int], rows: int, tiling: Tiling) -> Iterator[None]:
    """These rows of this layer by this tiling, all else by the matrix library."""
    with no_tiles():
        told[layer] = {rows: tiling}
        yield


@contextmanager
def no_tiles() -> Iterator[None]:
    """All products by the matrix library, all gates behind them."""
    tables = (GATED_TILINGS, LINEAR_TILINGS)
    before = copy.deepcopy(tables)
    for table in tables:
        table.clear()
    try:
        yield
    finally:
        for table, told in zip(tables, before, strict=True):
            table.clear()
            table.update(told)


if __name__ == "__main__":
    report(__doc__, {"layers": layers}, SHAPES)
