"""What an engine does not do before it is ready."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOAD = """
import sys
from models.voxcpm.loading import load_engine
load_engine(sys.argv[1], "cpu", 2, max_model_len=256)
print(*{"sympy", "torch._dynamo", "torch._inductor"} & sys.modules.keys())
"""


@pytest.mark.parametrize("model", ["bundled", "tests/parity/tiny_v2"])
def test_an_engine_for_a_cpu_starts_without_the_compiler_of_pytorch(model: str) -> None:
    command = [sys.executable, "-c", LOAD, model]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == ""
