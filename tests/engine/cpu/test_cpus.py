"""Which CPUs an engine may use: the set, the quota of control groups, and what other programs need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cpu import cpus
from engine.cpu.cpus import CACHE_SETTINGS, available_cpus, cpu_quota, thread_limit

V2 = "0::{}\n"
V1 = "5:memory:/other\n4:cpu,cpuacct:{}\n0::/\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Sets the CPUs and the quota that the process seems to have."""

    def have(count: int, quota: float | None = None, cores: int | None = None) -> None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(cpus, "_cpu_set", lambda: set(range(count)))
        monkeypatch.setattr(cpus, "cpu_quota", lambda: quota)
        monkeypatch.setattr(cpus, "_physical_cores", lambda: cores or count)

    return have


def test_a_quota_of_version_2_is_read(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", V2.format("/"))
    write(tmp_path / "sys/fs/cgroup/cpu.max", "150000 100000")
    assert cpu_quota(tmp_path) == 1.5


def test_the_smallest_quota_of_all_levels_counts(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", V2.format("/pod/box"))
    write(tmp_path / "sys/fs/cgroup/pod/box/cpu.max", "max 100000")
    write(tmp_path / "sys/fs/cgroup/pod/cpu.max", "400000 100000")
    write(tmp_path / "sys/fs/cgroup/cpu.max", "600000 100000")
    assert cpu_quota(tmp_path) == 4


@pytest.mark.parametrize("folder", ["cpu", "cpu,cpuacct"])
def test_a_quota_of_version_1_is_read(tmp_path: Path, folder: str) -> None:
    write(tmp_path / "proc/self/cgroup", V1.format("/docker/0123"))
    write(tmp_path / f"sys/fs/cgroup/{folder}/cpu.cfs_quota_us", "50000")
    write(tmp_path / f"sys/fs/cgroup/{folder}/cpu.cfs_period_us", "100000")
    assert cpu_quota(tmp_path) == 0.5, "the path is the host's; the container's own group is at the top"


@pytest.mark.parametrize("limit", ["max 100000", "0 0", "", "what"])
def test_no_limit_is_none(tmp_path: Path, limit: str) -> None:
    write(tmp_path / "proc/self/cgroup", V2.format("/"))
    write(tmp_path / "sys/fs/cgroup/cpu.max", limit)
    write(tmp_path / "sys/fs/cgroup/unified/cpu.cfs_quota_us", "-1")
    assert cpu_quota(tmp_path) is None


def test_a_system_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) is None


@pytest.mark.parametrize(
    ("count", "quota", "workers", "threads"),
    [
        (1, None, 1, 1),
        (2, None, 1, 2),
        (3, None, 1, 2),
        (4, None, 1, 3),
        (8, None, 2, 3),
        (2, None, 2, 1),
        (4, None, 2, 2),
        (2, 1.9, 1, 1),
        (8, 1.5, 1, 1),
        (8, 4.0, 1, 3),
        (16, None, 20, 1),
    ],
)
def test_threads_leave_a_cpu_to_the_gateway_or_rest(machine, count, quota, workers, threads) -> None:
    machine(count, quota)
    assert thread_limit(workers) == threads


def test_two_threads_of_one_core_are_counted_once(machine) -> None:
    machine(16, cores=8)
    assert thread_limit() == 8


def test_the_users_own_number_is_kept(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(8)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert thread_limit(workers=2) == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert thread_limit(workers=2) == 3


def test_cpus_of_a_quota_are_whole_and_at_least_one(machine) -> None:
    machine(8, 2.9)
    assert available_cpus() == 2
    machine(8, 0.2)
    assert available_cpus() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU sets here")
def test_the_set_of_taskset_counts() -> None:
    one_cpu = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    code = f"{one_cpu}; from engine.cpu.cpus import thread_limit; print(thread_limit())"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="another OpenMP")
@pytest.mark.parametrize(
    "code",
    [
        "from worker.engines.loading import load_engine; from worker.settings import WorkerSettings\n"
        "try: load_engine(WorkerSettings(model='/nowhere'), lambda stage, share: None)\n"
        "except Exception: pass",
        "from models.voxcpm import VoxCPM",
        "import tests.conftest, torch",
    ],
)
def test_waiting_threads_of_worker_api_and_tests_give_way(code: str) -> None:
    removed = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "GOMP_SPINCOUNT = '1000'" in result.stderr, "OpenMP reads it once, when torch is loaded"


CACHES = """
import psutil, torch
process, layer = psutil.Process(), torch.nn.Conv1d(64, 64, 7)
torch.set_num_threads(1)
sizes = []
with torch.inference_mode():
    for frames in [1100, *range(20, 1020)]:
        layer(torch.randn(1, 64, frames))
        sizes.append(process.memory_info().rss)
print(sizes[-1] - sizes[100])
"""


def test_a_worker_does_not_grow_with_every_shape() -> None:
    def growth(*lines: str) -> int:
        environment = {name: value for name, value in os.environ.items() if name not in CACHE_SETTINGS}
        code = "\n".join([*lines, CACHES])
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    bounded = growth("from engine.cpu.cpus import bound_shape_caches", "bound_shape_caches()")
    assert bounded < 0.5 * growth("import torch")
