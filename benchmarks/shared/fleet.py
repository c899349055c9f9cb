"""Real worker and gateway processes for benchmarks, started with the commands that users start.

    async with Fleet(workers=3, slots=20, step_ms=40) as fleet:
        fleet.gateway_url, fleet.worker_urls, fleet.gateway.memory_bytes()

Figures of a process come from /proc: unique memory, open files, CPU time.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Self

from benchmarks.shared.http_client import ADMIN_TOKEN, get
from voxfleet.processes.ports import any_free

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
_LOG_TAIL_BYTES = 4096


def start(
    program: str, arguments: list[str], environment: dict[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """`python -m program arguments` with these variables; what it prints goes to `log`."""
    return subprocess.Popen(
        [sys.executable, "-m", program, *arguments],
        cwd=REPOSITORY,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


class Process:
    """`voxfleet ARGUMENTS` with settings from `environment`; `log_tail()` is what it complained of.

    `program` is a module that takes the same arguments.
    """

    def __init__(self, *arguments: str, port: int, program: str = "voxfleet", **environment: Any) -> None:
        self.port = port
        variables = {key: value for key, value in os.environ.items() if not key.startswith("VOXFLEET_")}
        variables |= {f"VOXFLEET_{key.upper()}": str(value) for key, value in environment.items()}
        variables |= {"OMP_NUM_THREADS": "1", "VOXFLEET_WORKER_LOG_LEVEL": "error"}
        variables |= {"VOXFLEET_ADMIN_TOKEN": ADMIN_TOKEN}
        self._data = tempfile.TemporaryDirectory(prefix="voxfleet-", ignore_cleanup_errors=True)
        variables.setdefault("VOXFLEET_DATA_DIR", self._data.name)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        self._popen = start(program, [*arguments, "--port", str(port)], variables, self._log)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def ended(self) -> bool:
        return self._popen.poll() is not None

    def log_tail(self) -> str:
        """How it ended, if it did, and the end of its log."""
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES))
        status = self._popen.poll()
        state = "running" if status is None else f"ended with {status}"
        return f"process at port {self.port}, {state}:\n{tail.decode(errors='replace')}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory_bytes(self) -> int:
        """Memory that is this process's alone (unique set size)."""
        fields = Path(f"/proc/{self.pid}/smaps_rollup").read_text().splitlines()
        kibibytes = (
            int(line.split()[1]) for line in fields if line.startswith(("Private_Clean", "Private_Dirty"))
        )
        return 1024 * sum(kibibytes)

    def open_files(self) -> int:
        """File descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self._popen.send_signal(signal.SIGKILL)
        self._popen.wait()


class Fleet:
    """Workers of the synthetic model and a gateway in front of them, for as long as the block lasts."""

    def __init__(
        self,
        *,
        workers: int = 3,
        slots: int = 20,
        step_ms: float = 40.0,
        worker_settings: Mapping[str, Any] = MappingProxyType({}),
        program: str = "voxfleet",
        **gateway_settings: Any,
    ) -> None:
        """`program`: of the gateway, see `Process`."""
        self._worker_settings = {f"worker_{name}": value for name, value in worker_settings.items()}
        self._program = program
        self._slots = slots
        self._step_ms = step_ms
        self.settings = {"log_level": "error", **gateway_settings}
        self._count = workers
        self.workers: list[Process] = []
        self.gateway: Process

    @property
    def slots(self) -> int:
        """Of all workers."""
        return self._slots * self._count

    async def __aenter__(self) -> Self:
        allow_many_files()
        try:
            self.workers = [self._worker(free_port()) for _ in range(self._count)]
            urls = ",".join(worker.url for worker in self.workers)
            self.gateway = Process(
                "gateway", "--workers", urls, port=free_port(), program=self._program, **self.settings
            )
            await self.until_serving()
        except BaseException:
            self._kill_all()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill_all()

    def _kill_all(self) -> None:
        for process in [*self.workers, *([self.gateway] if hasattr(self, "gateway") else [])]:
            process.kill()

    def _worker(self, port: int) -> Process:
        options = ("--slots", str(self._slots), "--step-ms", str(self._step_ms))
        words = ("worker", "--model", "synthetic", "--device", "cpu", *options)
        return Process(*words, port=port, **self._worker_settings)

    def restart_worker(self, index: int) -> None:
        """Kill a worker and start another at the same address, without waiting for it."""
        port = self.workers[index].port
        self.workers[index].kill()
        self.workers[index] = self._worker(port)

    async def until_serving(self) -> None:
        """Until every worker is up, and counted as such by the gateway."""
        await until_ready(self.gateway, self.workers)

    async def held(self) -> dict[str, int]:
        """What the gateway holds: waiting and running requests, slots in use at the workers, tasks, files."""
        _, queue = await get(self.gateway.port, "/api/queue")
        _, metrics = await get(self.gateway.port, "/metrics")
        used = 0
        for worker in self.workers:
            _, health = await get(worker.port, "/health")
            used += health["slots_used"]
        tasks = next(line for line in metrics.splitlines() if line.startswith("voxfleet_tasks "))
        return {
            "waiting": queue["length"],
            "running": len(queue["running"]),
            "worker_slots_used": used,
            "tasks": int(float(tasks.split()[1])),
            "files": self.gateway.open_files(),
        }

    async def until_idle(self, seconds: float = 20.0) -> dict[str, int]:
        """`held()` once nothing waits or runs, or after `seconds`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            held = await self.held()
            idle = not (held["waiting"] or held["running"] or held["worker_slots_used"])
            if idle or asyncio.get_running_loop().time() > deadline:
                return held
            await asyncio.sleep(0.1)


async def until_ready(gateway: Process, workers: Sequence[Process], seconds: float = START_SECONDS) -> None:
    """Until `gateway` counts all `workers` as up, and each is: of one that was killed it may not have heard.

    Raises RuntimeError when one has ended, TimeoutError.
    """
    async with asyncio.timeout(seconds):
        while True:
            for process in (gateway, *workers):
                if process.ended:
                    raise RuntimeError(process.log_tail())
            try:
                status, ready = await get(gateway.port, "/ready")
                if status == 200 and ready["workers"] == len(workers):
                    answers = [await get(worker.port, "/ready") for worker in workers]
                    if all(status == 200 for status, _ in answers):
                        return
            except OSError:
                pass  # nobody listens yet
            await asyncio.sleep(0.1)


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    return any_free("127.0.0.1")


def allow_many_files() -> None:
    """Raise this process's limit of open files, which children inherit, as far as it goes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
