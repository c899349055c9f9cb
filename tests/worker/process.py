"""A process of the product that listens on a port, with the log that it has written so far."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from tests import forks
from tests.forks import PATIENCE_SECONDS


class ListeningProcess:
    """`log` holds its lines so far."""

    words_of_defects: ClassVar[tuple[str, ...]] = (
        "Traceback",
        "never retrieved",
        "unhandled",
        "without completing",
    )
    """In lines of what nobody handled."""

    def __init__(self, name: str, process: forks.Process) -> None:
        self.log: list[str] = []
        self.process, self._name = process, name
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        with self.process.stderr:
            for line in self.process.stderr:
                self.log.append(line)

    @cached_property
    def port(self) -> int:
        return self.wait_until_listening()

    def wait_until_listening(self) -> int:
        """The port, from the line that says where it listens."""
        return wait_until(self._find_port, lambda: f"the {self._name} did not start:\n" + "".join(self.log))

    def _find_port(self) -> int | None:
        if self.process.poll() is not None:
            status, log = self.process.returncode, "".join(self.log)
            raise AssertionError(f"the {self._name} ended with {status}:\n{log}")
        lines = [json.loads(line) for line in self.log if '"listening"' in line]
        return lines[0]["port"] if lines else None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def defects(self) -> list[str]:
        """Log lines of exceptions that nobody handled; bytes that are no text are uvicorn's to log."""
        told = [line for line in self.log if any(words in line for words in self.words_of_defects)]
        return [line for line in told if "Invalid UTF-8" not in line]

    def terminate(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """Sends the signal and waits for the exit status."""
        self.process.send_signal(sig)
        return self.wait()

    def wait(self) -> int:
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return status

    def kill(self) -> None:
        forks.end(self.process)
        self._reader.join(PATIENCE_SECONDS)


def wait_until(poll: Callable[[], Any], describe: Callable[[], str]) -> Any:
    """The first result of `poll` that is not None; AssertionError after PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        result = poll()
        if result is not None:
            return result
        time.sleep(0.02)
    raise AssertionError(describe())
