"""A process that has imported the product, and forks for every one of its processes that a test asks for.

A gateway spends two seconds of a CPU on imports before it does anything, a worker with a model as many, and
the suite starts hundreds.
`tests.forks` starts it as `python -m tests.fork_server FD`. FD is a socket on which jobs come as JSON, each
with four descriptors: stdin, stdout, stderr, and a socket that tells its id, later its exit status.
When the socket of the jobs ends, the children are killed: nothing outlives the tests, however they end.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from typing import NoReturn

from gateway.app import create_app
from gateway.settings import load_settings
from sockets.authorities import authorities
from telemetry.build import build
from tests import app_routes, empty_databases, tls_context

IMPORTED = (
    "gateway.cli",
    "voxfleet.cli",
    "voxfleet.settings",
    "tests.worker.run_worker",
    "models.llm.loading",
    "models.voxcpm.loading",
    "aiosqlite",
    "alembic.config",
    "anyio._backends._asyncio",
    "anyio.streams.tls",
    "anyio.streams.stapled",
    "httpcore",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "uvloop",
)
"""What gateways and workers import while they start. Nothing among it starts a thread."""
MOST_BYTES = 1 << 20
_OF_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass
class ForkServer:
    """The sockets of the running children, by their ids."""

    jobs: socket.socket
    running: dict[int, socket.socket] = field(default_factory=dict)

    def serve(self) -> dict | None:
        """Until the tests end: None. In a child: its job."""
        waking, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self.jobs, selectors.EVENT_READ)
            selector.register(waking, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if waking in ready:
                    os.read(waking, 4096)
                    self._reap()
                if self.jobs in ready:
                    message, descriptors, *_ = socket.recv_fds(self.jobs, MOST_BYTES, 4)
                    if not message:
                        return self._end()
                    if not self._fork(descriptors):
                        signal.set_wakeup_fd(-1)
                        os.close(waking)
                        os.close(woken)
                        return json.loads(message)

    def _fork(self, descriptors: list[int]) -> int:
        """The id of the child; 0 in the child, which has nothing of the others then."""
        *standard, told = descriptors
        status = socket.socket(fileno=told)
        if pid := os.fork():
            for descriptor in standard:
                os.close(descriptor)
            self.running[pid] = status
            _tell(status, pid)
            return pid
        for other in (self.jobs, status, *self.running.values()):
            other.close()
        for target, descriptor in enumerate(standard):
            os.dup2(descriptor, target)
            os.close(descriptor)
        return 0

    def _reap(self) -> None:
        while self.running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self.running.pop(pid) as told:
                _tell(told, os.waitstatus_to_exitcode(status))

    def _end(self) -> None:
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)
        for pid in self.running:
            os.waitpid(pid, 0)


def _tell(status: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody asks any more
        status.send(b"%d\n" % number)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end the children
    for name in IMPORTED:
        importlib.import_module(name)
    _prepare()
    gc.collect()
    gc.freeze()  # children do not go through it again, so that they share its pages
    job = ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    if job is None:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that `nohup` started have it ignored
    os.chdir(job["folder"])
    _take_over(job["environment"])
    sys.argv[1:] = job["arguments"]
    sys.modules.pop(job["module"], None)  # as in a new process, it is run for the first time
    try:
        runpy.run_module(job["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        _end_now(ended.code)
    _end_now(0)


def _prepare() -> None:
    """What every gateway or worker would make anew while it starts, in half of its CPU time."""
    tls_context.share()
    authorities()
    app_routes.share()
    app_routes.prepare(create_app(load_settings(worker_urls="http://127.0.0.1:9")))
    build.cache_clear()  # children have environments of their own
    empty_databases.share()
    empty_databases.prepared()


def _take_over(environment: dict[str, str]) -> None:
    if any(environment.get(name) != os.environ.get(name) for name in _OF_AUTHORITIES):
        authorities.cache_clear()
    os.environ.clear()
    os.environ.update(environment)


def _end_now(code: object) -> NoReturn:
    """As the interpreter ends a program, but nothing is freed: to free all that was imported, and so to copy
    it first, takes half as long as a gateway's start.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    main()
