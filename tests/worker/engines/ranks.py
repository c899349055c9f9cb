"""The processes over which a worker shares out its model."""

from __future__ import annotations

from pathlib import Path

from tests.worker.harness import WorkerProcess


def ranks_of(process: WorkerProcess) -> list[int]:
    """Its child processes that are ranks."""
    pid = process.health().pid
    children = [
        int(child)
        for tasks in Path(f"/proc/{pid}/task").glob("*/children")
        for child in tasks.read_text().split()
    ]
    return [child for child in children if b".parallel.rank" in Path(f"/proc/{child}/cmdline").read_bytes()]
