"""A test that fails at first is tried again without what the first try left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.forks import REPOSITORY, search_path

TESTS = """
import pytest

made = []

@pytest.fixture(scope="session")
def kept():
    return made

@pytest.fixture(scope="module")
def log(kept):
    made.append("begun")
    yield []
    made.append("ended")

@pytest.fixture(scope="module")
def reader(log):
    return lambda: list(log)

def test_first(reader, log):
    log.append("a line")
    assert made == ["begun"]

def test_that_fails_at_first(reader, log, kept):
    log.append("another line")
    assert reader() == ["another line"]
    assert kept == ["begun", "ended", "begun"]
"""


def test_a_second_try_has_fixtures_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fresh_reruns", "--reruns", "1", "-rR"]
    command += ["--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": search_path()}
    ran = subprocess.run(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert ran.returncode == 0, ran.stdout
    assert "2 passed, 1 rerun" in ran.stdout
