"""A cluster of Ray with several nodes on this machine, which come, and go as machines do that lose power.

    with RayNodes(cpus=1) as nodes:
        nodes.add(cpus=2)
        nodes.address

Nodes are real ones of `ray.cluster_utils`: each has a raylet and processes of its own, and all have the
address of this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

import psutil
from ray.cluster_utils import Cluster

OBJECT_STORE_BYTES = 80 << 20
"""Of each node."""
_QUICK = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "prestart_worker_first_driver": False,
    "enable_worker_prestart": False,
}
"""A dead node is noticed within seconds, and nothing is started ahead."""


class RayNodes:
    """`cpus`: of the head, which lasts as long as the block. `any_thread`: nodes are added in other threads
    than the main one; then they outlive this process if it is killed.
    """

    variables: ClassVar[Mapping[str, str]] = {
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    """Of this process, within the block."""

    def __init__(self, cpus: float = 0, any_thread: bool = False) -> None:
        self._cpus, self._any_thread = cpus, any_thread

    def __enter__(self) -> Self:
        self.folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # sockets lie in it, with short names
        os.mkdir(f"{self.folder}/ray")  # `Cluster` notes its address there, and makes no folder for that
        variables = {**self.variables, "RAY_TMPDIR": self.folder}
        self._before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        self._when_told_to_end = signal.getsignal(signal.SIGTERM)  # nodes of Ray take it for themselves
        self._cluster = Cluster(
            initialize_head=True,
            shutdown_at_exit=not self._any_thread,
            head_node_args=self._head(),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in [*self._cluster.worker_nodes, self.head]:
            self.kill(node)
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if not self._any_thread:
            signal.signal(signal.SIGTERM, self._when_told_to_end)

    @property
    def head(self) -> Any:
        """The first node."""
        return self._cluster.head_node

    @property
    def address(self) -> str:
        """Host and port."""
        return self._cluster.address

    def add(self, cpus: float, gpus: int = 0) -> Any:
        """One more node, which is there."""
        return self._cluster.add_node(**self._node(cpus, gpus))

    def kill(self, node: Any) -> None:
        """SIGKILL for everything that runs there, at once."""
        self.cut(self.processes_of(node))
        self.forget(node)

    def cut(self, processes: Iterable[psutil.Process]) -> None:
        """SIGKILL for all of them; nothing else is done meanwhile."""
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue

    def forget(self, node: Any) -> None:
        """A node that was cut."""
        self._cluster.remove_node(node, allow_graceful=False)

    def workers_of(self, node: Any) -> list[psutil.Process]:
        """The worker processes of VoxFleet that run there."""
        return [
            process
            for process in self.processes_of(node)
            if {"voxfleet.processes.parent_watch", "worker"} <= _words_of(process)
        ]

    def processes_of(self, node: Any) -> list[psutil.Process]:
        """All that run there."""
        found = []
        for started in node.all_processes.values():
            for one in started:
                try:
                    root = psutil.Process(one.process.pid)
                    found += [root, *root.children(recursive=True)]
                except psutil.NoSuchProcess:
                    continue
        return found

    def _head(self) -> dict[str, Any]:
        return self._node(self._cpus, _system_config=_QUICK, temp_dir=self.folder)

    @staticmethod
    def _node(cpus: float, gpus: int = 0, **more: Any) -> dict[str, Any]:
        return {
            "num_cpus": cpus,
            "num_gpus": gpus,
            "object_store_memory": OBJECT_STORE_BYTES,
            "include_dashboard": False,
            **more,
        }


def _words_of(process: psutil.Process) -> set[str]:
    try:
        return set(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return set()
