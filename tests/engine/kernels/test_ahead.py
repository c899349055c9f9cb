"""What is launched in a rehearsal is noted, left out and compiled, once."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from engine.kernels import ahead
from tests.engine.compiler import ROOT, compiled

UNGUARDED = """
import sys
from pathlib import Path
from engine.kernels.ahead import _compile_all

with Path(sys.argv[1]).open("a") as runs:
    runs.write("run\\n")
_compile_all([("engine.kernels.norm", "absent_kernel", "{}")])
"""


def test_noted_kernels_are_compiled_once(tmp_path: Path) -> None:
    lines = compiled("tests.engine.kernels.compile_noted", tmp_path)
    assert json.loads(lines[-1]) == {"counts": [3, 0], "rehearsed": 1, "binaries": 3}


def test_a_kernel_has_one_key_in_whatever_order_kernels_are_met(tmp_path: Path) -> None:
    (line,) = compiled("tests.engine.kernels.order_keys", tmp_path)
    found = json.loads(line)
    assert found["several"] == [] and found["functions"] > 40


def test_processes_that_compile_do_not_run_the_program_that_started_them(tmp_path: Path) -> None:
    script, runs = tmp_path / "speak.py", tmp_path / "runs"
    script.write_text(UNGUARDED)
    result = subprocess.run(
        [sys.executable, str(script), str(runs)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    assert runs.read_text() == "run\n"
    assert "absent_kernel" in result.stderr and "BrokenProcessPool" not in result.stderr


def test_a_cache_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(ahead, "_digest", lambda key: key)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    rehearsed: list[int] = []
    with caplog.at_level(logging.WARNING):
        assert ahead.compile_ahead(lambda: rehearsed.append(1), "work") == 0
    assert rehearsed == [1]
    assert str(tmp_path / "file" / "cache") in caplog.text
