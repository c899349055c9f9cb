"""Processes that tests start end with them, and tell how they ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import psutil

from tests.forks import PATIENCE_SECONDS, REPOSITORY, search_path
from tests.worker.harness import WorkerProcess

KILLED = """
import os, signal
from tests.worker.harness import WorkerProcess
worker = WorkerProcess()
print(worker.port, worker.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_fork_does_not_outlive_tests_that_were_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": search_path()}
    ran = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE
    )
    assert ran.returncode == -signal.SIGKILL
    port, pid = map(int, ran.stdout.split())
    assert port
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(PATIENCE_SECONDS)  # TimeoutExpired while it lives


def test_a_fork_tells_how_it_ended() -> None:
    ended, killed = WorkerProcess(), WorkerProcess()
    try:
        assert ended.port and killed.port and ended.process.poll() is None
        assert ended.terminate() == 0 and ended.process.poll() == 0
    finally:
        ended.kill()
        killed.kill()
    assert killed.process.poll() == -signal.SIGKILL
