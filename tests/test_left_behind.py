"""Tests that leave something behind in their process fail themselves, not those that come after them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.forks import REPOSITORY, search_path

TORCH = """
kept = {"threads": 1, "dtype": "torch.float32", "deterministic": False}
get_num_threads, get_default_dtype = lambda: kept["threads"], lambda: kept["dtype"]
are_deterministic_algorithms_enabled = lambda: kept["deterministic"]

def set_num_threads(count):
    kept["threads"] = count
"""
"""As much of it as matters here; it takes seconds to import."""
FILE = """
import logging, os, signal
import torch

def test_first(monkeypatch):
    monkeypatch.setenv("VOXFLEET_ONE", "1")
    assert torch.get_num_threads() == 1
    {line}

def test_last():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""
LEFT = {
    "pass": None,
    "torch.set_num_threads(2)": None,
    "os.environ['OF_A_LIBRARY'] = 'that was imported'": None,
    "signal.signal(signal.SIGINT, signal.SIG_IGN)": "SIGINT to 1",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)": "{'the handler of SIGTERM': <Handlers.SIG_IGN: 1>}",
    "os.environ['VOXFLEET_TWO'] = '2'": "{'the variable VOXFLEET_TWO': '2'}",
    "os.environ.pop('PATH')": "{'the variable PATH': None}",
    "os.chdir('/')": "{'the working directory': '/'}",
    "logging.disable()": "{'the level of logging': (30, 50)}",
    "torch.kept['dtype'] = 'half'": "{'the type of numbers': 'half'}",
    "torch.kept['deterministic'] = True": "{'whether sums are repeated': True}",
}


def test_whoever_leaves_something_behind_fails(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    for number, line in enumerate(LEFT):
        (tmp_path / f"test_{number:02}.py").write_text(FILE.format(line=line))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.left_behind", "--rootdir", str(tmp_path)]
    ran = subprocess.run(
        [*command, "-c", os.devnull, str(tmp_path)], cwd=REPOSITORY, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": search_path()},
    )  # fmt: skip
    told = [(number, said) for number, said in enumerate(LEFT.values()) if said]
    failures = re.findall(r"^(?:it leaves|this file leaves behind) (.*)$", ran.stdout, re.MULTILINE)
    assert failures == [said for _, said in told], ran.stdout
    failed = [int(number) for number in re.findall(r"^ERROR .*test_(\d+)\.py", ran.stdout, re.MULTILINE)]
    assert failed == [number for number, _ in told]
    assert f"{2 * len(LEFT)} passed, {len(told)} errors" in ran.stdout
