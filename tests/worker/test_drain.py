"""`voxfleet drain` and `/ready`: what stops a worker asks and waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.worker.harness import LONG, Client, WorkerProcess
from voxfleet.processes.ports import any_free
from worker.drain import drain, run
from worker.settings import load_settings

SECRET = "canary-secret-0123456789"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerProcess]:
    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", SECRET)
    process = WorkerProcess(environment={"VOXFLEET_WORKER_SECRET": SECRET})
    try:
        yield process.wait_until_ready()
    finally:
        process.kill()


def ready(worker: WorkerProcess) -> tuple[int, dict[str, str]]:
    answer = worker.request("GET", "/ready")
    return answer.status_code, answer.json()


def test_an_idle_worker_is_drained_at_once_and_not_ready_any_more(worker: WorkerProcess) -> None:
    assert ready(worker) == (200, {"state": "IDLE"})
    assert run(wait_seconds=60, port=worker.port) == 0
    assert ready(worker) == (503, {"state": "DRAINING"})


def test_a_worker_that_could_not_load_is_not_ready_and_says_so() -> None:
    process = WorkerProcess(model="absent")
    try:
        process.wait_for(lambda status: status.state == "ERROR")
        assert ready(process) == (503, {"state": "ERROR"})
    finally:
        process.kill()


async def test_it_waits_for_the_requests_that_are_open(worker: WorkerProcess) -> None:
    async with worker.connect(secret=SECRET) as websocket:
        client = Client(websocket)
        await client.start(LONG)
        await client.receive_audio()
        assert await asyncio.to_thread(run, wait_seconds=0, port=worker.port) == 1
        drained = asyncio.create_task(asyncio.to_thread(run, wait_seconds=60, port=worker.port))
        await asyncio.to_thread(worker.wait_for, lambda status: status.state == "DRAINING")
        assert ready(worker) == (503, {"state": "DRAINING"})
        assert not drained.done()
        await client.cancel()
        await client.receive_all_until_last()
        assert await drained == 0


def test_a_worker_that_listens_everywhere_is_found_on_this_machine(worker: WorkerProcess) -> None:
    settings = load_settings(port=worker.port, host="0.0.0.0")
    assert drain(settings, 60) == 0


def test_a_worker_at_an_address_of_ipv6_is_found() -> None:
    process = WorkerProcess(host="::1")
    try:
        assert drain(load_settings(port=process.port, host="::1"), 60) == 0
    finally:
        process.kill()


def test_a_wrong_secret_drains_nothing(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VOXFLEET_WORKER_SECRET", "another-secret-0123")
    with pytest.raises(httpx.HTTPStatusError):
        drain(load_settings(port=worker.port), 60)
    assert run(wait_seconds=60, port=worker.port) == 1
    assert f":{worker.port} answers 401: the shared secret is missing or wrong" in capsys.readouterr().err
    assert ready(worker) == (200, {"state": "IDLE"})


@pytest.mark.parametrize("body", ["Not found", "[]", '{"error": "no"}'])
def test_something_else_at_its_port_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    other = httpx.Response(404, text=body, request=httpx.Request("POST", "http://127.0.0.1:1/drain"))
    monkeypatch.setattr(httpx.Client, "post", lambda *_: other)
    assert run(wait_seconds=60, port=1) == 1
    assert ":1 answers 404: it is no worker" in capsys.readouterr().err


def test_without_a_worker_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(wait_seconds=60, port=any_free("127.0.0.1")) == 1
    assert "does not answer" in capsys.readouterr().err


def test_a_wrong_setting_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(wait_seconds=60, port=70_000) == 2
    assert "port" in capsys.readouterr().err
