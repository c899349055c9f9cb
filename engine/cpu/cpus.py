"""How many CPUs there are to use, and how many threads of them an engine should take.

A container or `taskset` limits the set of CPUs, a quota (`docker --cpus 1.5`, a limit of Kubernetes) the
time on them. Both count: eight CPUs with a quota of 1.5 are 1.5 CPUs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

RESERVED_CPUS = 1
"""For the gateway, the event loop of the worker, and whatever else the machine does."""
SHARED_CPUS = 2
"""So many an engine may have without a reserve: one of two threads, which computes the audio of a step beside
the next one, rests half of the time."""
WAIT_SETTINGS = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}
"""How long waiting threads spin: iterations in GNU's OpenMP (Linux), milliseconds in LLVM's (macOS)."""

CACHE_SETTINGS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}
"""Shapes that oneDNN, and PyTorch above it (ideep), keep what they made for. Their own default is 1,024, and
texts of many lengths make a new one with every prompt: a worker grows by 350 MB over a book."""


def available_cpus() -> int:
    """Whole CPUs that this process may use, at least one: its set of them, bounded by its quota."""
    return max(1, int(cpu_budget()))


def cpu_budget() -> float:
    """CPUs that this process may use, as a quota of 1.5 leaves 1.5 of them."""
    count = len(_cpu_set())
    quota = cpu_quota()
    return count if quota is None else min(count, quota)


def thread_limit(workers: int = 1) -> int:
    """Threads that each of `workers` engines on this machine may compute with, at least one.

    `OMP_NUM_THREADS` decides where it is set. Two threads of one core are counted once.
    """
    if (given := given_threads()) is not None:
        return given
    cores, budget = _physical_cores(), cpu_budget()
    can_share = min(cores, int(budget)) >= SHARED_CPUS * workers
    return max(SHARED_CPUS if can_share else 1, min(cores, int(budget - RESERVED_CPUS) // workers))


def given_threads() -> int | None:
    """What the user set as `OMP_NUM_THREADS`, None where it is absent or no number."""
    value = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(value) if value.isdigit() and int(value) > 0 else None


def give_way_while_waiting() -> None:
    """Lets threads that wait for each other sleep soon instead of spinning; to be called before torch is
    loaded.

    OpenMP's own default is milliseconds. On a machine where somebody else computes too, the thread that is
    waited for may be one that has no CPU, because the waiting one holds it.
    """
    if "torch" in sys.modules or "OMP_WAIT_POLICY" in os.environ:
        return
    for name, value in WAIT_SETTINGS.items():
        os.environ.setdefault(name, value)


def bound_shape_caches() -> None:
    """Lets oneDNN keep few shapes (`CACHE_SETTINGS`); to be called before the first product on a CPU."""
    for name, value in CACHE_SETTINGS.items():
        os.environ.setdefault(name, value)


def cpu_quota(root: Path = Path("/")) -> float | None:
    """CPUs that the control groups of this process allow, the smallest of all levels; None without a limit.

    `root` is where /proc and /sys are found.
    """
    quotas = [quota for folder in _group_folders(root) if (quota := _read_quota(folder)) is not None]
    return min(quotas, default=None)


def _group_folders(root: Path) -> Iterator[Path]:
    """Folders of the control groups with a say in CPU time, version 2 and 1, from this process's own upwards.

    In a container the path that the kernel tells may be the host's; its own group is the top then.
    """
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
        elif "cpu" in controllers.split(","):
            tops = [root / "sys/fs/cgroup" / name for name in ("cpu", controllers)]
        else:
            continue
        inner = Path(path.strip("/"))
        for top in tops:
            yield from (top / part for part in (inner, *inner.parents))


def _read_quota(group: Path) -> float | None:
    """Quota over period of one control group: `cpu.max` of version 2, `cpu.cfs_*` of version 1."""
    limit, _, period = _read(group / "cpu.max").partition(" ")
    if not limit:
        limit = _read(group / "cpu.cfs_quota_us")
        period = _read(group / "cpu.cfs_period_us")
    try:
        quota = int(limit) / int(period)
    except (ValueError, ZeroDivisionError):
        return None
    return quota if quota > 0 else None


def _cpu_set() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _physical_cores() -> int:
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {cpu: _read(Path(topology.format(cpu))) for cpu in _cpu_set()}
    return len({known or str(cpu) for cpu, known in siblings.items()})


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
