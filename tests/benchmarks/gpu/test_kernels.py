"""The comparison of kernels runs on a CPU, where fused forms must be right and their times say nothing."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import many_rows
from benchmarks.gpu.checkpoints import make_checkpoint
from benchmarks.gpu.kernels import fused as gpu_kernels
from benchmarks.gpu.kernels.linear import tiles
from benchmarks.gpu.kernels.linear.spare_rows import none_to_spare
from engine.kernels.linear.halved_linear import PAYING_ROWS
from engine.kernels.linear.spare_rows import FASTER_ROWS
from engine.kernels.linear.tilings import DEEP, GATED_TILINGS, LINEAR_TILINGS


@pytest.mark.timeout(300)
def test_every_case_is_compared_and_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new" / "kernels.json"
    gpu_kernels.main(["--device", "cpu", "--shape", "tiny", "--streams", "1", "--json", str(file)])
    found = json.loads(file.read_text())
    assert {"norm", "gate", "rows, DiT", "flow step", "encoder", "solver, 10 steps"} <= {
        case["name"] for case in found
    }
    assert all(case["fused_error"] < 1e-5 and case["fused"] > 0 for case in found)
    assert capsys.readouterr().out.count("\n") == len(found) + 1


def test_steps_are_taken_with_rows_to_spare_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = copy.deepcopy((FASTER_ROWS, PAYING_ROWS))
    seen = []

    def steps_ms(*_: object) -> list[float]:
        seen.append(any(FASTER_ROWS.values()))
        return [1.0, 2.0]

    checkpoint, device = make_checkpoint("tiny", tmp_path), torch.device("cpu")
    assert all(taken > 0 for taken in many_rows.steps_ms(checkpoint, device, (1,)))
    monkeypatch.setattr(many_rows, "steps_ms", steps_ms)
    rows = many_rows.compare(checkpoint, device, (1, 2), none_to_spare)
    assert rows[1] == {"streams": 2, "without_ms": [2.0, 2.0], "with_ms": [2.0, 2.0]}
    assert seen == [False, True, False, True] and told == (FASTER_ROWS, PAYING_ROWS)


def test_products_are_by_the_library_meanwhile_or_by_one_tiling() -> None:
    before = copy.deepcopy((GATED_TILINGS, LINEAR_TILINGS))
    with tiles.only(LINEAR_TILINGS, (4096, 1024), 44, DEEP):
        assert {(4096, 1024): {44: DEEP}} == LINEAR_TILINGS and not GATED_TILINGS
    with tiles.no_tiles():
        assert not GATED_TILINGS and not LINEAR_TILINGS
    assert before == (GATED_TILINGS, LINEAR_TILINGS) and all(before)


def test_without_rows_to_spare_two_products_are_in_halves_where_that_paid() -> None:
    def halved() -> bool:
        return any(1408 in rows for rows in PAYING_ROWS[1024])

    assert not halved()
    with none_to_spare():
        assert halved()
