"""A training script in processes of its own, started when its time comes and again when it fails.

`Stage` is one process, `StageGroup` one per GPU.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.voxcpm.training.stages.progress import last_report

PACKAGE = "models.voxcpm.training"
LOG_TAIL_CHARACTERS = 1500
HUNG_AFTER_SECONDS = 45.0


def start_module(module: str, arguments: list[str], log: Path) -> subprocess.Popen:
    """Run a module of the training in a process that appends what it prints to `log`."""
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


class StageGroup:
    """A data-parallel stage: the same module once per GPU.

    When one of several processes fails, or `result` is not there in time, all are ended and the first GPU
    goes on alone from their checkpoint. `result`: the file, in the work folder, that must be there
    HUNG_AFTER_SECONDS after `deadline`.
    """

    def __init__(self, first: Stage, gpus: list[int], port: int, result: str, deadline: float) -> None:
        self._first, self._gpus, self._port = first, gpus, port
        self._result, self._due = first.work / result, deadline + HUNG_AFTER_SECONDS
        self.stages = self._start_as(gpus)

    def _start_as(self, gpus: list[int]) -> list[Stage]:
        stages = []
        for rank, gpu in enumerate(gpus):
            more = ["--gpu", gpu, "--rank", rank, "--world", len(gpus), "--port", self._port]
            name = self._first.name if rank == 0 else f"{self._first.name}_rank{rank}"
            arguments = [*self._first.arguments, *map(str, more)]
            retries = 0 if len(gpus) > 1 else self._first.retries
            stages.append(replace(self._first, name=name, arguments=arguments, retries=retries, process=None))
        return stages

    def watch(self) -> set[str]:
        """The states of all processes, after starting what is due."""
        states = {stage.watch() for stage in self.stages}
        hung = time.time() > self._due and not self._result.exists()
        if len(self.stages) > 1 and (hung or "failed" in states):
            self.stop()
            self.stages = self._start_as(self._gpus[:1])
            states = {stage.watch() for stage in self.stages}
        return states

    def stop(self) -> None:
        for stage in self.stages:
            stage.stop()
