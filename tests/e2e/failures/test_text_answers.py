"""Answers of text models whose worker is killed or emptied in the middle: the reader sees one answer."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.parallel.processes import is_running
from tests.gateway.stages.processes import GatewayProcess, StartFleet, all_free, eventually
from tests.text_models import random_model
from tests.worker.engines.ranks import ranks_of
from tests.worker.harness import WorkerProcess

CHAT = "/v1/chat/completions"
QUESTION = [{"role": "user", "content": "Tell me more."}]
BODY = {"messages": QUESTION, "max_tokens": 1000, "temperature": 0.9, "seed": 4}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each byte that it writes depends on all before, and characters come in parts."""
    return random_model(tmp_path_factory.mktemp("models") / "tiny")


def fleet_of(start: StartFleet, model: Path, count: int) -> tuple[GatewayProcess, list[WorkerProcess]]:
    return start(count, model=str(model), device="cpu", slots=4)


async def pieces(gateway: GatewayProcess, body: dict[str, Any]) -> AsyncIterator[str]:
    async with gateway.http() as http, http.stream("POST", CHAT, json={**body, "stream": True}) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choice = json.loads(line.removeprefix("data: "))["choices"][0]
                yield choice["delta"].get("content", "")


async def whole(gateway: GatewayProcess, body: dict[str, Any]) -> str:
    async with gateway.http() as http:
        answer = (await http.post(CHAT, json=body)).json()
    return answer["choices"][0]["message"]["content"]


def busy_worker(workers: list[WorkerProcess]) -> WorkerProcess:
    return next(worker for worker in workers if worker.health().slots_used)


async def test_a_stream_goes_on_in_mid_word_when_its_worker_is_killed(start: StartFleet, model: Path) -> None:
    gateway, workers = fleet_of(start, model, 2)
    undisturbed = await whole(gateway, BODY)
    text, killed = "", False
    async for piece in pieces(gateway, BODY):
        text += piece
        if len(text) > 40 and not killed:
            killed = True
            busy_worker(workers).kill()
    assert killed
    assert text == undisturbed
    async with gateway.http() as http:
        assert "voxfleet_migrations_total 1.0" in (await http.get("/metrics")).text
    await all_free(gateway)


async def test_a_stream_goes_on_elsewhere_when_one_rank_of_its_worker_is_killed(
    start: StartFleet, model: Path
) -> None:
    settings = {"tensor_parallel_size": 2, "supervised": True}
    gateway, workers = start(2, model=str(model), device="cpu", slots=4, **settings)
    body = {**BODY, "max_tokens": 200}
    undisturbed, text, lost = await whole(gateway, body), "", []
    async for piece in pieces(gateway, body):
        text += piece
        if len(text) > 40 and not lost:
            lost.append(busy_worker(workers))
            (rank,) = ranks_of(lost[0])
            os.kill(rank, signal.SIGKILL)
    assert text == undisturbed
    assert lost[0].wait() != 0
    assert not is_running(rank)


@pytest.mark.parametrize("fields", [{"stop": "\x00\x00\x00"}, {"n": 2, "frequency_penalty": 0.5}])
async def test_so_does_an_answer_that_is_sent_whole(
    start: StartFleet, model: Path, fields: dict[str, Any]
) -> None:
    gateway, workers = fleet_of(start, model, 2)
    body = {**BODY, **fields}
    async with gateway.http() as http:
        undisturbed = (await http.post(CHAT, json=body)).json()["choices"]
        written = [worker.health().counters.tokens for worker in workers]
        asking = asyncio.create_task(http.post(CHAT, json=body))

        async def under_way() -> WorkerProcess | None:
            for worker, before in zip(workers, written, strict=True):
                if worker.health().counters.tokens > before + 60:
                    return worker
            return None

        (await eventually(under_way, "no answer is under way")).kill()
        response = await asking
    assert response.json()["choices"] == undisturbed
    assert int(response.headers["X-Migrations"]) >= 1


async def test_a_worker_that_is_emptied_hands_its_answer_on(start: StartFleet, model: Path) -> None:
    gateway, workers = fleet_of(start, model, 2)
    undisturbed = await whole(gateway, BODY)
    text, moved = "", False
    async for piece in pieces(gateway, BODY):
        text += piece
        if len(text) > 40 and not moved:
            moved = True
            place = workers.index(busy_worker(workers))
            async with gateway.http() as http:
                answer = await http.post(f"/api/workers/w{place}/drain", params={"streams": "move"})
            assert answer.is_success, answer.text
    assert moved
    assert text == undisturbed


async def test_the_last_worker_lost_cuts_the_stream_with_an_error(start: StartFleet, model: Path) -> None:
    gateway, workers = start(
        1, model=str(model), device="cpu", slots=4,
        gateway={"failover_timeout_seconds": 0.5, "no_worker_grace_seconds": 0.3},
    )  # fmt: skip
    lines: list[str] = []
    async with gateway.http() as http:
        with pytest.raises(Exception, match=r"incomplete|peer closed"):
            async with http.stream("POST", CHAT, json={**BODY, "stream": True}) as response:
                async for line in response.aiter_lines():
                    lines.append(line)
                    if len(lines) == 10:
                        workers[0].kill()
    last = json.loads([line for line in lines if line][-1].removeprefix("data: "))
    assert last["error"]["type"] in ("capacity_error", "server_error")
    assert "data: [DONE]" not in lines
