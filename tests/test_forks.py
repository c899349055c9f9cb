"""Processes that tests start end with them, and tell how they ended."""

from __future__ import annotations

import contextlib
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import psutil

from sockets.authorities import authorities
from tests import fork_server
from tests.forks import PATIENCE_SECONDS, REPOSITORY, search_path
from tests.gateway.edge.certificates import make_certificate
from tests.in_fork import in_fork
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


def test_a_fork_believes_the_authority_of_its_own_environment(tmp_path: Path) -> None:
    file, _ = make_certificate(tmp_path)
    certificate = ssl.PEM_cert_to_DER_cert(file.read_text())

    def believed() -> list[bool]:
        before = certificate in authorities().get_ca_certs(binary_form=True)
        fork_server._take_over({**os.environ, "SSL_CERT_FILE": str(file)})
        return [before, certificate in authorities().get_ca_certs(binary_form=True)]

    assert in_fork(believed) == "[False, True]"
