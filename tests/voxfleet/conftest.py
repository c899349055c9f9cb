"""A real `voxfleet serve` with the synthetic model, as its own process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 120.0


def voxfleet(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "voxfleet", *arguments]


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """Polls until `condition()` is true, and returns its value; the limit only bounds a broken run."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}")


class Served:
    """A running `voxfleet serve`, or another command, what it printed, and the processes it started."""

    def __init__(self, *options: str, command: tuple[str, ...] = ("serve",), **environment: str) -> None:
        self.process = subprocess.Popen(
            voxfleet(*command, *options),
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for_output(self, pattern: str) -> re.Match[str]:
        def found() -> re.Match[str] | None:
            match = re.search(pattern, self.output)
            if match is None and self.process.poll() is not None and not self._reader.is_alive():
                raise AssertionError(
                    f"ended with {self.process.returncode} and without {pattern!r}:\n{self.output}"
                )
            return match

        return wait_until(found, f"the output has {pattern!r}; it is:\n{self.output}")

    def wait_ready(self) -> str:
        """The URL it announces."""
        return self.wait_for_output(r"VoxFleet is ready: (http://\S+)").group(1)

    def wait_exit(self) -> int:
        code = self.process.wait(timeout=PATIENCE_SECONDS)
        self._reader.join(timeout=PATIENCE_SECONDS)
        return code

    def children(self, kind: str = "") -> list[psutil.Process]:
        """Its child processes; `kind` is worker or gateway."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if not is_gone(child) and (not kind or kind in words_of(child))]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reader.join(timeout=30)
        self.process.stdout.close()


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; of one that has just ended, none."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def speak(url: str, text: str = "Hello.", **options: Any) -> httpx.Response:
    """A clip from `POST /tts`; anything but success fails the test with the server's words."""
    body = {"text": text, **options}
    response = httpx.post(f"{url}/tts", json=body, timeout=PATIENCE_SECONDS, trust_env=False)
    assert response.status_code == 200, response.text
    return response


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts servers and ends whatever is left of them."""
    with contextlib.ExitStack() as ending:

        def start(*options: str, command: tuple[str, ...] = ("serve",), **environment: str) -> Served:
            served = Served(*options, command=command, **environment)
            ending.callback(served.close)
            return served

        yield start


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Served, str]]:
    """One ready server for tests that leave it as it is, with its URL."""
    served = Served("--model", "synthetic", "--port", "0", "--workers", "1")
    try:
        yield served, served.wait_ready()
    finally:
        served.close()
