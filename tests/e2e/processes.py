"""Real server processes for end-to-end tests: workers, gateways, and a way to wait for them.

    with worker(step_ms=20) as first, gateway([first.url]) as edge:
        httpx.post(f"{edge.url}/tts", json={"text": "Hello."})

Each runs the command line of the product on a free port of the loopback and is ended on the way out,
however the test ended. When one fails to start, its log is part of the error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, TypeVar

import httpx

from tests import forks
from tests.gateway.callers.administration import ADMIN, ADMIN_TOKEN
from voxfleet.processes.ports import any_free

START_SECONDS = 60.0
STOP_SECONDS = 15.0
_OPEN = {
    "VOXFLEET_ADMIN_TOKEN": ADMIN_TOKEN,
    "VOXFLEET_EXPOSE_METRICS": "true",
    "VOXFLEET_EXPOSE_OPENAPI": "true",
}
Answer = TypeVar("Answer")


def free_port() -> int:
    """A TCP port of the loopback that nobody listened on a moment ago."""
    return any_free("127.0.0.1")


def eventually(probe: Callable[[], Answer], seconds: float = START_SECONDS) -> Answer:
    """The first truthy answer of `probe`. Raises TimeoutError with the last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := probe()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s; last answer: {answer!r}")
        time.sleep(0.05)
    return answer


@dataclass
class Server:
    """A running process that serves HTTP at `url`."""

    url: str
    process: forks.Process
    log: IO[bytes]

    def get_json(self, path: str) -> Any:
        """The JSON at `path`, or None while nothing there answers 200."""
        try:
            response = httpx.get(self.url + path, timeout=5, headers=ADMIN)
        except httpx.TransportError:
            return None
        return response.json() if response.status_code == 200 else None

    def kill(self) -> None:
        """End it the hard way, as a crash would."""
        forks.end(self.process)

    def stop(self) -> None:
        """Ask it to end; kill it when it does not."""
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def read_log(self) -> str:
        """Everything it has printed."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")


def end_requests(edge: Server) -> bool:
    """Cancel whatever waits or runs at a gateway; whether there is nothing."""
    queue = edge.get_json("/api/queue") or {"queue": [{}], "running": []}
    open_requests = [*queue["queue"], *queue["running"]]
    for request in open_requests:
        if ticket := request.get("ticket_id"):
            httpx.delete(f"{edge.url}/api/queue/{ticket}", headers=ADMIN, timeout=5)
    return not open_requests


@contextlib.contextmanager
def server(arguments: list[str], port: int, ready_path: str, environment: dict[str, str]) -> Iterator[Server]:
    """`voxfleet ARGUMENTS` as a process, from the first 200 of `ready_path` on."""
    with tempfile.TemporaryFile() as log:
        variables = {**os.environ, **_OPEN, "OMP_NUM_THREADS": "1", "PYTHONPATH": forks.search_path()}
        process = forks.start("voxfleet", arguments, {**variables, **environment}, log)
        running = Server(f"http://127.0.0.1:{port}", process, log)
        try:
            _wait_until_ready(running, ready_path)
            yield running
        finally:
            running.stop()


def _wait_until_ready(running: Server, ready_path: str) -> None:
    def answered() -> bool:
        if running.process.poll() is not None:
            raise RuntimeError(f"exited with {running.process.returncode}:\n{running.read_log()}")
        return running.get_json(ready_path) is not None

    try:
        eventually(answered)
    except TimeoutError as error:
        raise RuntimeError(f"does not serve {ready_path}:\n{running.read_log()}") from error


@contextlib.contextmanager
def worker(
    *,
    model: str = "synthetic",
    slots: int = 2,
    step_ms: float | None = None,
    port: int | None = None,
    **environment: str,
) -> Iterator[Server]:
    """A worker on the CPU that answers /health; with `model="synthetic"` it serves within a second."""
    port = port or free_port()
    arguments = ["worker", "--port", str(port), "--device", "cpu", "--model", model, "--slots", str(slots)]
    if step_ms is not None:
        arguments += ["--step-ms", f"{step_ms:g}"]
    with server(arguments, port, "/health", environment) as running:
        yield running


@contextlib.contextmanager
def gateway(
    worker_urls: list[str], *, ready: bool = True, port: int | None = None, **environment: str
) -> Iterator[Server]:
    """A gateway for these workers; with `ready`, from the moment on when it has one that serves.

    It has a data folder of its own unless one is named: gateways on one database show each other's log.
    """
    port = port or free_port()
    arguments = ["gateway", "--workers", ",".join(worker_urls), "--port", str(port)]
    with tempfile.TemporaryDirectory(prefix="voxfleet-gateway-", ignore_cleanup_errors=True) as folder:
        environment = {"VOXFLEET_DATA_DIR": folder, **environment}
        with server(arguments, port, "/ready" if ready else "/health", environment) as running:
            yield running
