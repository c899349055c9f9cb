"""Runs a program of Triton's compiler: in a process of its own, as this one may run Triton's interpreter.

The compiler is the oldest that is served, where `run_tests.sh` has installed it: Triton 3.6, which comes with
PyTorch 2.11. What it takes newer ones take, and not the other way round.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST = ROOT / "data" / "oldest_triton"


def compiled(module: str, cache: Path, *arguments: str) -> list[str]:
    """The lines that `module` prints, with an empty cache; fails the test when it does."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    if OLDEST.exists():
        environment["PYTHONPATH"] = str(OLDEST)
    result = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment | {"TRITON_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.splitlines()
