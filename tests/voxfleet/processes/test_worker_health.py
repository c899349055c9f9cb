"""What the supervisor makes of a worker's `/health`."""

from __future__ import annotations

import httpx
import pytest

from voxfleet.processes.service import Health
from voxfleet.processes.worker_service import worker_health
from worker.protocol import LoadingProgress, WorkerState, WorkerStatus

PID = 4711


def answer(state: WorkerState, pid: int = PID, **fields: object) -> httpx.Response:
    status = WorkerStatus(
        worker_id="worker-22400",
        boot_id="b",
        state=state,
        slots_total=1,
        slots_used=0,
        device="cpu",
        pid=pid,
        step=0,
        uptime_seconds=1.0,
        memory_bytes=1,
        **fields,
    )
    return httpx.Response(200, text=status.model_dump_json())


@pytest.mark.parametrize("state", [WorkerState.IDLE, WorkerState.BUSY, WorkerState.DRAINING])
def test_a_worker_that_has_loaded_is_healthy(state: WorkerState) -> None:
    assert worker_health(answer(state), PID) == Health(healthy=True)


def test_a_loading_worker_is_neither_healthy_nor_failed() -> None:
    loading = answer(WorkerState.LOADING, loading=LoadingProgress(stage="weights", progress=0.5))
    assert worker_health(loading, PID) == Health(stage="weights", progress=0.5)
    assert worker_health(answer(WorkerState.LOADING), PID) == Health()


def test_an_error_is_told_in_its_own_words() -> None:
    health = worker_health(answer(WorkerState.ERROR, error="out of memory"), PID)
    assert health.error == "failed: out of memory"


def test_another_process_on_the_port_is_not_taken_for_the_child() -> None:
    assert worker_health(answer(WorkerState.IDLE, pid=1), PID).error == "finds its port held by process 1"


@pytest.mark.parametrize("body", ["", "<html>", "{}", '{"state": "IDLE"}'])
def test_an_answer_that_is_no_workers_is_an_error(body: str) -> None:
    assert "HTTP 404" in worker_health(httpx.Response(404, text=body), PID).error
