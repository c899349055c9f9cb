"""The comparison of kernels runs on a CPU, where fused forms must be right and their times say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.gpu.kernels import fused as gpu_kernels


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
