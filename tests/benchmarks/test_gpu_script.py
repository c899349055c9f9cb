"""`scripts/gpu_tests.sh` says what stops it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]


def run(output: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts" / "gpu_tests.sh"), *arguments],
        env={**os.environ, "PYTHON": sys.executable, "GPU_TESTS_OUTPUT": str(output), **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_nothing_is_run_or_written(tmp_path: Path) -> None:
    result = run(tmp_path / "output.txt")
    assert result.returncode == 2 and "no CUDA device" in result.stderr
    assert not (tmp_path / "output.txt").exists()


def test_a_part_that_fails_fails_the_script_and_stands_in_its_output(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    result = run(output, "nonsense", GPU_TESTS_DEVICE="cpu")
    assert result.returncode == 1
    assert "no such part: nonsense" in output.read_text()
    assert output.read_text().splitlines()[-1] == "==> FAILED: nonsense"
