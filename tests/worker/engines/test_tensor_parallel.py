"""A worker whose model is shared out over two processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.engine.parallel.processes import is_running
from tests.text_models import random_model
from tests.worker.engines.ranks import ranks_of
from tests.worker.harness import Client
from tests.worker.process import wait_until
from worker.engines.loading import RefusedError, load_engine
from worker.protocol import ADAPTERS, FrameKind
from worker.settings import WorkerSettings


async def test_a_worker_of_two_ranks_writes_and_ends_with_one_of_them(tmp_path: Path, start_worker) -> None:
    model = random_model(tmp_path / "tiny")
    process = start_worker(
        model=str(model), device="cpu", slots=2, tensor_parallel_size=2, supervised=True
    ).wait_until_ready()
    (rank,) = ranks_of(process)
    async with process.connect() as websocket:
        client = Client(websocket)
        await client.start_text(prompt="Once", sampling={"max_tokens": 9, "temperature": 0, "logprobs": None})
        frames = await client.receive_text()
    assert frames[-1].kind is FrameKind.TEXT
    assert sum(len(frame.tokens) for frame in frames) == 9
    os.kill(rank, signal.SIGKILL)  # nobody has asked for anything
    assert process.wait() != 0
    wait_until(lambda: any("rank 1 died, signal 9" in line for line in process.log) or None, lambda: "no log")
    assert not is_running(rank)


async def test_a_worker_of_two_ranks_speaks_and_ends_with_one_of_them(start_worker) -> None:
    process = start_worker(
        model="bundled", device="cpu", slots=2, tensor_parallel_size=2, supervised=True
    ).wait_until_ready()
    (rank,) = ranks_of(process)
    assert ADAPTERS not in process.health().model.features
    async with process.connect() as websocket:
        client = Client(websocket)
        await client.start("Good morning.", max_seconds=0.5)
        frames = await client.receive_clip()
    assert sum(len(frame.pcm) for frame in frames)
    os.kill(rank, signal.SIGKILL)
    assert process.wait() != 0
    wait_until(lambda: any("rank 1 died, signal 9" in line for line in process.log) or None, lambda: "no log")
    assert not is_running(rank)


@pytest.mark.parametrize("bundled", [False, True])
def test_what_cannot_be_divided_is_refused_by_name(tmp_path: Path, bundled: bool) -> None:
    model = "bundled" if bundled else str(random_model(tmp_path / "tiny"))
    settings = WorkerSettings(model=model, device="cpu", tensor_parallel_size=3)
    problem = "tensor_parallel_size 3: this model has a num_attention_heads of"
    with pytest.raises(RefusedError, match=problem):
        load_engine(settings, lambda stage, share: None)
