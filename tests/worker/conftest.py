"""Worker processes: one that most tests share, and a factory for those that need their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.worker.harness import WorkerProcess, ready_worker


@pytest.fixture(scope="session")
def shared_process() -> Iterator[WorkerProcess]:
    with ready_worker(slots=2, step_ms=10) as process:
        yield process


@pytest.fixture
def worker(shared_process: WorkerProcess) -> Iterator[WorkerProcess]:
    """A ready worker of 2 slots; whatever a test does, it must leave none of them used."""
    yield shared_process
    shared_process.wait_for(lambda status: status.state == "IDLE" and status.slots_used == 0)


@pytest.fixture
def start_worker() -> Iterator[Callable[..., WorkerProcess]]:
    """`start_worker(engine, **settings)`: a process of its own, ended with the test."""
    with contextlib.ExitStack() as ending:

        def start(engine: str = "synthetic", **options) -> WorkerProcess:
            process = WorkerProcess(engine, **options)
            ending.callback(process.kill)
            return process

        yield start
