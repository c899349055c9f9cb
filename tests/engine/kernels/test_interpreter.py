"""Tests hasten the interpreter that runs kernels (`tests/interpreter.py`); they make the same in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.engine.kernels.interpreted import results

ROOT = Path(__file__).resolve().parents[3]


def test_kernels_make_the_same_in_the_interpreter_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "results.safetensors"
    command = [sys.executable, "-m", "tests.engine.kernels.interpreted", str(out)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "1"}, check=True, timeout=120)
    known, found = load_file(out), results()
    assert known.keys() == found.keys()
    assert [name for name, tensor in found.items() if not torch.equal(tensor, known[name])] == []
