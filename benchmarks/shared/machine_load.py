"""What computes on this machine, and how fast it does."""

from __future__ import annotations

import contextlib
import time

import psutil

QUIET_CPUS = 0.15


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU time so far of processes and all that they started."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in (process, *process.children(recursive=True)):
                times = one.cpu_times()
                total += times.user + times.system
    return total


def busy_seconds() -> float:
    """CPU time so far that this machine's CPUs were not idle."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq


def wait_until_quiet(patience_seconds: float) -> bool:
    """Whether the machine became quiet in time: for three seconds, hardly anybody computes."""
    deadline = time.monotonic() + patience_seconds
    while True:
        before = busy_seconds()
        time.sleep(3)
        if (busy_seconds() - before) / 3 < QUIET_CPUS:
            return True
        if time.monotonic() > deadline:
            return False


def reference_ms() -> float:
    """CPU time of a fixed loop: how fast a CPU of this machine is at the moment."""
    began = time.process_time()
    sum(i * i for i in range(1_000_000))
    return round(1e3 * (time.process_time() - began), 1)
