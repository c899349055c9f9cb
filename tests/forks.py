"""Processes of the product for tests: forks of one process that has imported it (`tests.fork_server`).

A fork does what `python -m MODULE` does in a new process, with the environment and the folder asked for, a
tenth of a second later instead of three. Tests of the command line and of `voxfleet serve` start new ones,
as users do.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 60.0
"""When a test gives up. Nothing is asserted about how long things take."""
_READ_AT_THE_START = ("PYTHON", "OMP_", "GOMP_", "MKL_", "LD_", "TORCH", "PYTORCH_", "TRITON_", "CUDA_")
"""Variables that are read once, by an interpreter or a library: another value needs a new process."""


class Fork:
    """A running process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, status: socket.socket, stderr: IO[str] | None) -> None:
        self.pid, self.stderr, self.returncode = pid, stderr, None
        self._status, self._reading = status, threading.Lock()

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status. Raises subprocess.TimeoutExpired."""
        with self._reading:
            if self.returncode is None:
                if not select.select([self._status], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired([f"process {self.pid}"], timeout)
                self.returncode = int(self._status.recv(64) or -signal.SIGKILL)  # with its server
                self._status.close()
            return self.returncode

    def send_signal(self, sig: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = Fork | subprocess.Popen[Any]


class _Server:
    """The process that forks, and the socket on which jobs are sent to it."""

    def __init__(self) -> None:
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": search_path()}
        self._jobs, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                cwd=REPOSITORY,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._close)

    def _close(self) -> None:
        self._jobs.close()
        self._process.wait(PATIENCE_SECONDS)

    def fork(self, job: dict[str, Any], output: int, errors: int) -> tuple[int, socket.socket]:
        """The id of the process that runs the job, and where its exit status will be told."""
        status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull) as nothing:
            descriptors = [nothing.fileno(), output, errors, theirs.fileno()]
            socket.send_fds(self._jobs, [json.dumps(job).encode()], descriptors)
        if not select.select([status], [], [], PATIENCE_SECONDS)[0]:
            raise TimeoutError("the process that forks does not answer")
        return int(status.recv(64)), status


_server = functools.cache(_Server)


def search_path() -> str:
    """PYTHONPATH of a process of ours: the repository, then what this process was told."""
    return os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))


def start(
    module: str, arguments: list[str], environment: Mapping[str, str], log: IO[bytes] | None = None
) -> Process:
    """`python -m module arguments` in the folder of the repository, with no other variables than these.

    What it prints goes to the file `log`; without one, its `stderr` is a pipe of text.
    """
    server = _server()
    names = {name for name in {*environment, *server.environment} if name.startswith(_READ_AT_THE_START)}
    if any(environment.get(name) != server.environment.get(name) for name in names):
        return start_anew(module, arguments, environment, log)
    job = {"module": module, "arguments": arguments, "environment": dict(environment)}
    job["folder"] = str(REPOSITORY)
    if log:
        return Fork(*server.fork(job, log.fileno(), log.fileno()), None)
    readable, writable = os.pipe()
    with open(writable):
        child = server.fork(job, sys.__stdout__.fileno(), writable)
    return Fork(*child, open(readable, encoding="utf-8", errors="replace"))


def start_anew(
    module: str, arguments: list[str], environment: Mapping[str, str], log: IO[bytes] | None = None
) -> Process:
    """The same in a process that is no fork."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT if log else subprocess.PIPE,
        text=log is None,
    )


def end(process: Process) -> None:
    """Kill it, and wait a bounded time until it is gone."""
    process.kill()
    process.wait(PATIENCE_SECONDS)


def start_for_benchmarks(
    program: str, arguments: list[str], environment: dict[str, str], log: IO[bytes]
) -> Process:
    """In place of `benchmarks.shared.fleet.start`."""
    return start(program, arguments, {**environment, "PYTHONPATH": search_path()}, log)
