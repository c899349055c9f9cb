"""A training script in a process of its own, started when its time comes and again when it fails."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .progress import last_report

PACKAGE = "models.voxcpm.training"
LOG_TAIL_CHARACTERS = 1500


def start_module(module: str, arguments: list[str], log: Path) -> subprocess.Popen:
    """Run a module of this package in a process that appends what it prints to `log`."""
    command = [sys.executable, "-u", "-m", f"{PACKAGE}.{module}", *arguments]
    with open(log, "a") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)


@dataclass
class Stage:
    """One stage: `module` with `--work` and `arguments`, from `start_at` (time.time()) on."""

    name: str
    module: str
    arguments: list[str]
    start_at: float
    work: Path
    retries: int = 2
    process: subprocess.Popen | None = None

    @property
    def log(self) -> Path:
        return self.work / f"{self.name}.log"

    def start(self) -> None:
        self.process = start_module(self.module, ["--work", str(self.work), *self.arguments], self.log)

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def watch(self) -> str:
        """Start or restart as is due; returns waiting, running, done or failed."""
        if self.process is None and time.time() < self.start_at:
            return "waiting"
        if self.process is None:
            self.start()
        state = self.state
        if state == "failed" and self.retries > 0:
            self.retries -= 1
            self.start()
            return "running"
        return state

    @property
    def state(self) -> str:
        """As `watch`, without starting anything."""
        if self.process is None:
            return "waiting"
        code = self.process.poll()
        return "running" if code is None else "failed" if code else "done"

    def report(self) -> dict[str, Any]:
        """Where the stage stands: its last report, and the end of its log when it failed."""
        code = self.process.poll() if self.process else None
        report = {"is": self.state, "exit_code": code, **last_report(self.work, self.name)}
        if code:
            report["log_tail"] = self.log.read_text(errors="replace")[-LOG_TAIL_CHARACTERS:]
        return report
