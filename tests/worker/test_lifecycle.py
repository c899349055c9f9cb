"""A worker's life as seen from outside: loading, failing, draining, ending."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from telemetry.build import VARIABLE, VERSION
from tests.forks import REPOSITORY, search_path
from tests.worker.harness import Client, StartWorker, WorkerProcess
from worker.protocol import ErrorMessage

SIGNALLED = """
import signal
from worker import server
from worker.settings import WorkerSettings

tell = server.logger.info

def told(event, **facts):
    tell(event, **facts)
    if event == "listening":
        signal.raise_signal(signal.SIGTERM)

server.logger = server.logger.bind()
server.logger.info = told
raise SystemExit(server.serve(WorkerSettings(model="synthetic", port=0)))
"""
LONG = "The quick brown fox jumps over the lazy dog. " * 50


async def refusal_of(worker: WorkerProcess) -> str:
    async with worker.connect() as websocket:
        await Client(websocket).start()
        answer = await Client(websocket).receive()
    assert isinstance(answer, ErrorMessage)
    assert answer.error.type == "capacity_error"
    return answer.error.code


async def test_loading_is_visible_and_ends(start_worker: StartWorker, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    worker = start_worker("gated", environment={"LOAD_GATE": str(gate)})
    status = worker.wait_for(lambda status: status.loading is not None and status.loading.stage == "weights")
    assert (status.state, status.loading.progress, status.model) == ("LOADING", 0.25, None)
    assert await refusal_of(worker) == "loading"
    response = worker.request("POST", "/encode")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    gate.touch()
    status = worker.wait_for(lambda status: status.state != "LOADING")
    assert (status.state, status.loading, status.model.name) == ("IDLE", None, "synthetic")


def test_a_worker_tells_its_build(start_worker: StartWorker) -> None:
    worker = start_worker(environment={VARIABLE: "0123456789abcdef"})
    assert worker.wait_until_ready().health().build == f"{VERSION}+0123456789ab"
    (listening,) = [line for line in worker.log if '"listening"' in line]
    assert f'"build": "{VERSION}+0123456789ab"' in listening


def test_a_signal_is_obeyed_as_soon_as_a_worker_says_that_it_listens() -> None:
    environment = {**os.environ, "PYTHONPATH": search_path()}
    ran = subprocess.run(
        [sys.executable, "-c", SIGNALLED], cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert "stopping" in ran.stdout
    assert ran.returncode == 0


async def test_a_worker_that_cannot_load_stays_up_and_says_why(start_worker: StartWorker) -> None:
    worker = start_worker("unloadable")
    status = worker.wait_for(lambda status: status.state == "ERROR")
    assert status.error == "loading failed: FileNotFoundError: model.safetensors is missing"
    assert await refusal_of(worker) == "worker_failed"
    assert worker.drain().state == "ERROR"
    assert worker.process.poll() is None
    assert worker.terminate() == 1


def test_an_unknown_model_is_an_error_that_can_be_seen(start_worker: StartWorker, tmp_path: Path) -> None:
    worker = start_worker("cli", model=str(tmp_path / "nothing"), device="cpu")
    status = worker.wait_for(lambda status: status.state == "ERROR")
    assert status.error.startswith("loading failed: ")


def test_a_gpu_that_is_not_there_is_said_in_one_line(start_worker: StartWorker) -> None:
    worker = start_worker("cli", model="bundled", device="cuda:64")
    status = worker.wait_for(lambda status: status.state == "ERROR")
    assert status.error.startswith("loading failed: device cuda:64: PyTorch sees ")
    assert status.error.endswith(" CUDA devices here")
    assert worker.terminate() == 1
    assert not any("Traceback" in line for line in worker.log)


async def test_draining_finishes_open_requests_refuses_new_ones_and_can_be_taken_back(
    start_worker: StartWorker,
) -> None:
    worker = start_worker(slots=2).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("The quick brown fox jumps over the lazy dog.")
        await client.receive_audio()
        assert worker.drain().state == "DRAINING"
        assert await refusal_of(worker) == "draining"
        assert (await client.receive_all_until_last())[-1].finish_reason == "stop"
        assert worker.health().state == "DRAINING"
        assert worker.drain().state == "DRAINING"
        assert worker.resume().state == "IDLE"
        await client.start("Hello.")
        assert (await client.receive_all())[-1].finish_reason == "stop"


def test_a_drain_while_loading_holds_afterwards(start_worker: StartWorker, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    worker = start_worker("gated", environment={"LOAD_GATE": str(gate)})
    assert worker.drain().state == "LOADING"
    gate.touch()
    worker.wait_for(lambda status: status.state == "DRAINING")


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_an_idle_worker_cleanly(start_worker: StartWorker, sig: signal.Signals) -> None:
    worker = start_worker("cli").wait_until_ready()
    async with worker.connect() as websocket:
        assert worker.terminate(sig) == 0
        assert await Client(websocket).closed() == 1012
    events = [json.loads(line)["event"] for line in worker.log]
    assert events[-1] == "closed"
    assert not any("Traceback" in line for line in worker.log)


async def test_sigterm_lets_an_open_request_finish(start_worker: StartWorker) -> None:
    worker = start_worker(shutdown_seconds=60).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("The quick brown fox jumps over the lazy dog.")
        await client.receive_audio()
        worker.process.send_signal(signal.SIGTERM)
        assert (await client.receive_all_until_last())[-1].finish_reason == "stop"
        assert await client.closed() == 1012
    assert worker.wait() == 0


async def test_a_worker_that_is_about_to_end_takes_no_new_requests_whoever_asks(
    start_worker: StartWorker,
) -> None:
    worker = start_worker(shutdown_seconds=3600, step_ms=200).wait_until_ready()
    async with worker.connect() as websocket:
        await Client(websocket).start(LONG)
        await Client(websocket).receive_audio()
        worker.process.send_signal(signal.SIGTERM)
        worker.wait_for(lambda status: status.state == "DRAINING")
        assert worker.resume().state == "DRAINING"
        worker.terminate(signal.SIGINT)


async def test_a_request_that_outlasts_the_grace_is_cut_with_1012(start_worker: StartWorker) -> None:
    worker = start_worker(shutdown_seconds=0.2).wait_until_ready()
    async with worker.connect() as websocket:
        await Client(websocket).start(LONG)
        await Client(websocket).receive_audio()
        assert worker.terminate() == 0
        assert await Client(websocket).closed() == 1012


async def test_a_second_interrupt_does_not_wait(start_worker: StartWorker) -> None:
    worker = start_worker(shutdown_seconds=3600, step_ms=1000).wait_until_ready()
    async with worker.connect() as websocket:
        await Client(websocket).start(LONG)
        await Client(websocket).receive_audio()
        worker.process.send_signal(signal.SIGINT)
        worker.wait_for(lambda status: status.state == "DRAINING")
        assert worker.terminate(signal.SIGINT) == 0


def test_a_worker_that_loads_can_be_ended(start_worker: StartWorker, tmp_path: Path) -> None:
    worker = start_worker("gated", environment={"LOAD_GATE": str(tmp_path / "never")})
    worker.wait_for(lambda status: status.state == "LOADING")
    assert worker.terminate() == 0


def test_a_taken_port_is_reported(start_worker: StartWorker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        worker = start_worker("cli", port=taken.getsockname()[1])
        assert worker.wait() == 1
    assert "cannot listen on 127.0.0.1" in "".join(worker.log)


def test_a_wrong_setting_is_reported(start_worker: StartWorker) -> None:
    worker = start_worker("cli", slots=0)
    assert worker.wait() == 2
    assert "slots" in "".join(worker.log)


def test_the_listening_socket_is_on_loopback(start_worker: StartWorker) -> None:
    worker = start_worker("cli").wait_until_ready()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", worker.port), timeout=5).close()


async def test_text_is_in_no_log(start_worker: StartWorker) -> None:
    canary = "canary-7f3a"
    worker = start_worker("faulty", log_level="debug", slots=1).wait_until_ready()
    for text, fields in (
        (canary, {}),
        (f"{canary} please fail {LONG}", {}),
        (f"{canary} please overgrow {LONG}", {}),
        (canary * 1000, {}),
        (canary, {"voice": canary}),
        (canary, {"prompt_text": canary}),
        (f"{canary} please die {LONG}", {}),
    ):
        async with worker.connect() as websocket:
            await Client(websocket).start(text, **fields)
            await Client(websocket).receive_all()
    async with worker.connect() as websocket:
        await websocket.send(json.dumps({"type": "start", "text": canary, canary: canary}))
        assert await Client(websocket).receive()
        await websocket.send(canary)
        assert await Client(websocket).closed() == 1008
    assert worker.terminate() == 1
    assert any("device lost" in line for line in worker.log)
    assert canary not in "".join(worker.log)


def test_the_worker_announces_what_it_is(worker: WorkerProcess) -> None:
    status = worker.health()
    assert status.pid == worker.process.pid
    assert status.worker_id == f"worker-{worker.port}"
    assert status.device == "cpu"
    assert 10 << 20 < status.memory_bytes < 2 << 30
    assert status.device_memory_bytes is None
    assert status.boot_id == worker.health().boot_id
    assert status.uptime_seconds < worker.health().uptime_seconds
