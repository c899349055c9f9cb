"""Clips whose worker dies, whose gateway is left, whose adapter is deleted: one clip is heard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.gateway.adapters.uploads import CLOSE, TEXT, WORKER, Trained, samples, trained
from tests.gateway.stages.processes import GatewayProcess, Stream, check_error, started_fleets
from tests.worker.harness import WorkerProcess

SECRET = "sixteen characters or more"
CLIP: dict[str, Any] = {"text": TEXT, "seed": 5, "min_seconds": 1.0, "max_seconds": 1.0, "adapter": "anna"}


class Stage:
    """Two gateways of one data_dir, and workers of which one has the adapter."""

    def __init__(self, start: Any, data_dir: Path, adapter: Trained) -> None:
        settings = {"data_dir": data_dir, "resume_secret": SECRET}
        self.start, self.settings = start, settings
        self.gateway, self.workers = start(2, gateway=settings, **WORKER)
        with self.http() as http:
            self.adapter = adapter.create(http, "anna")

    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.gateway.url, timeout=60, trust_env=False)

    def holders(self) -> list[bool]:
        """Of each worker, whether it was sent the adapter."""
        return [any("adapter loaded" in line for line in worker.log) for worker in self.workers]

    def worker_of(self, stream: Stream) -> WorkerProcess:
        id = stream.of_type("started")[0]["worker_id"]
        return self.workers[int(id.removeprefix("w"))]


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp("trained"), 0)


@pytest.fixture
def stage(tmp_path: Path, adapter: Trained) -> Iterator[Stage]:
    with started_fleets() as start:
        yield Stage(start, tmp_path, adapter)


async def heard(gateway: GatewayProcess, **fields: Any) -> np.ndarray:
    async with gateway.stream(**{**CLIP, **fields}) as stream:
        assert await stream.receive_rest() == 1000, stream.messages
    return samples(stream.pcm)


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape and np.abs(found - expected).max() <= CLOSE


async def test_a_clip_goes_on_at_a_worker_that_lacks_its_adapter_though_that_was_deleted(
    stage: Stage,
) -> None:
    whole = await heard(stage.gateway)
    assert sorted(stage.holders()) == [False, True]
    async with stage.gateway.stream(**CLIP) as stream:
        await stream.receive_audio()
        worker = stage.worker_of(stream)
        with stage.http() as http:
            assert http.delete(f"/api/adapters/{stage.adapter['id']}").status_code == 200
            refused = http.post("/tts", json=CLIP)
        worker.kill()
        assert await stream.receive_rest() == 1000, stream.messages
    assert stream.messages[-1]["migrations"] == 1
    assert stage.holders() == [True, True]
    assert check_error(refused, 404)["code"] == "unknown_adapter"
    assert_same(samples(stream.pcm), whole)


async def test_requests_go_to_the_worker_that_has_the_adapter(stage: Stage) -> None:
    for seed in range(3):
        await heard(stage.gateway, seed=seed, max_seconds=0.1, min_seconds=0.0)
    assert sorted(stage.holders()) == [False, True]


async def test_a_resume_token_keeps_the_adapter_whatever_its_name_means_since(
    stage: Stage, tmp_path: Path
) -> None:
    whole = await heard(stage.gateway)
    second = stage.start.gateway(stage.workers, **stage.settings).wait_until_serving(2)
    token = ""
    async with stage.gateway.stream(**CLIP, resume=True) as stream:
        while len(pieces := stream.of_type("resume_token")) < 3:
            await stream.receive()
        for piece in pieces:
            token = token[: piece.get("keep", len(token))] + piece["token"]
        begun = samples(stream.pcm)
    with stage.http() as http:
        http.patch(f"/api/adapters/{stage.adapter['id']}", json={"name": "anna's first"})
        trained(tmp_path / "other", 1).create(http, "anna")
    async with second.socket() as stream:
        await stream.socket.send(f'{{"resume_token": "{token}"}}')
        assert await stream.receive_rest() == 1000, stream.messages
    rest = samples(stream.pcm)
    position = len(whole) - len(rest)
    assert 0 < position <= len(begun)
    assert_same(np.concatenate([begun[:position], rest]), whole)


async def test_a_live_session_speaks_with_it_and_its_recording_tells(stage: Stage) -> None:
    clip = await heard(stage.gateway, min_seconds=None, max_seconds=None)
    plain = await heard(stage.gateway, min_seconds=None, max_seconds=None, adapter=None)
    async with stage.gateway.socket("/ws/live") as live:
        await live.socket.send('{"type": "start", "seed": 5, "adapter": "anna", "record": true}')
        await live.socket.send(f'{{"type": "append", "text": "{TEXT}"}}')
        await live.socket.send('{"type": "stop"}')
        assert await live.receive_rest() == 1000, live.messages
    assert_same(samples(live.pcm), clip)
    assert clip.shape != plain.shape or np.abs(clip - plain).max() > 100
    with stage.http() as http:
        [session] = http.get("/api/sessions").json()["sessions"]
        told = http.get(f"/api/sessions/{session['id']}").json()
    assert stage.adapter["id"] in str(told)
