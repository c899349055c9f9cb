"""The fused kernels pass the compiler for Hopper, and each keeps the rule of `engine.kernels.launch`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_every_kernel_compiles_and_waits_before_it_writes(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    result = subprocess.run(
        [sys.executable, "-m", "tests.engine.kernels.compile_kernels"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    lines = result.stdout.splitlines()
    assert len(lines) == 14
    assert all(line.endswith("_kernel waits 0 stores before") for line in lines), result.stdout
