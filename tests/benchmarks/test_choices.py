"""Which kernels are taken follows from what was measured."""

from __future__ import annotations

import pytest

from benchmarks.gpu.kernels.linear import tiles
from engine.kernels.linear import halved_linear
from engine.kernels.linear.spare_rows import FASTER_ROWS
from engine.kernels.linear.tilings import GATED_TILINGS, LINEAR_TILINGS
from tests.benchmarks.figures import results

SHAPES = ("", "_voxcpm1.5", "_voxcpm-0.5b")
"""Behind the names of files of results; VoxCPM2's have none."""


def test_halves_are_taken_where_they_were_seen_to_pay() -> None:
    for row in results("gpu_halves")["layers"]:
        outputs = {"DiT": 1024, "LM": 2048}[row["stack"]]
        taken = any(row["rows"] in rows for rows in halved_linear.paying_rows(outputs))
        assert taken == (row["halves_us"] < row["whole_us"]), row


@pytest.mark.parametrize("shape", SHAPES)
def test_spare_rows_are_taken_where_they_were_seen_to_pay(shape: str) -> None:
    found = results(f"gpu_spare_rows{shape}")
    for row in found["products"]:
        assert row.get("told") == FASTER_ROWS[row["outputs"], row["inputs"]].get(row["rows"]), row
        assert row.get("told_us", 0.0) < row["own_us"], row
    for row in found.get("layers", []):
        assert row["now_us"] < 1.02 * min(row["own_us"], row["halves_us"]), row


@pytest.mark.parametrize("shape", SHAPES)
def test_tiles_are_taken_where_they_were_seen_to_pay(shape: str) -> None:
    kinds = (
        ("gated", GATED_TILINGS[4096, 1024], tiles.GATED),
        ("whole", LINEAR_TILINGS[1280 if shape else 2560, 1024], tiles.WHOLE),
    )
    for row in results(f"gpu_tiles{shape}")["layers"]:
        for kind, told, tried in kinds:
            taken, library = row[f"{kind}_taken"], row["library_us"]
            assert told.get(row["rows"]) == tried.get(taken), row
            pays = [row[each] < 0.99 * library for name in tried if (each := f"{kind}_{name}_us") in row]
            assert (row["now_us"] < library) if taken else not any(pays), row
