"""A worker whose device is lost says so, and ends where somebody starts it again; here a CPU is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.worker.harness import Client, StartWorker, WorkerProcess
from tests.worker.losing import SUPERVISED, check_end, lose_device
from worker.protocol import ErrorMessage

CHECKPOINT = str(Path(__file__).parents[1] / "parity" / "tiny_v2")


async def test_a_lost_device_ends_the_engine_and_a_supervised_worker(start_worker: StartWorker) -> None:
    worker = start_worker("losing", environment=SUPERVISED, model=CHECKPOINT, device="cpu", step_ms=None)
    worker.wait_until_ready()
    check_end(*await lose_device(worker, min_seconds=3.0))
    assert await asyncio.to_thread(worker.wait) == 1
    assert any("to be started again" in line for line in worker.log)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"slots": 2049}, "max_num_batched_tokens is 2048 on cpu, below the 2049 sequences"),
        ({"environment": {"VOXFLEET_WORKER_ATTENTION": "flash"}}, "attention flash does not serve cpu: "),
    ],
)
def test_what_does_not_go_together_is_refused_before_the_model_is_loaded(
    start_worker: StartWorker, options: dict, error: str
) -> None:
    worker = start_worker("cli", model="bundled", device="cpu", step_ms=None, **options)
    status = worker.wait_for(lambda status: status.state == "ERROR")
    assert error in status.error
    assert worker.terminate() == 1
    log = "".join(worker.log)
    assert '"weights"' not in log and "Traceback" not in log


def test_a_worker_has_the_sizes_it_is_told(start_worker: StartWorker) -> None:
    sizes = {"MAX_MODEL_LEN": "64", "KV_BLOCKS": "9", "BLOCK_SIZE": "8", "MAX_DECODES": "1"}
    environment = {f"VOXFLEET_WORKER_{name}": value for name, value in sizes.items()}
    worker = start_worker("cli", environment=environment, model=CHECKPOINT, device="cpu", step_ms=None)
    worker.wait_until_ready()
    answer = asyncio.run(refusal(worker))
    assert "the model has 64" in answer.error.message


async def refusal(worker: WorkerProcess) -> ErrorMessage:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("hello world " * 60)
        return await client.receive()
