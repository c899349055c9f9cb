"""What pages are told before they speak: where the model runs, how far a worker is, what its voices are."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.api.speech.catalog import page_config
from gateway.app import create_app
from gateway.settings import load_settings
from gateway.slots.capacity.worker import Health, Worker
from gateway.voices.catalog import built_in_voices
from tests.gateway.callers.administration import ADMIN_TOKEN
from tests.gateway.stages.fleet import describe_model, status
from worker.protocol import LoadingProgress, VoiceDescription, WorkerState


def worker(
    name: str, state: WorkerState, loading: LoadingProgress | None = None, device: str = "cpu"
) -> Worker:
    said = status(state).model_copy(update={"loading": loading, "device": device})
    return Worker(name, f"http://{name}", health=Health.UP, status=said, model=said.model)


async def config_of(*workers: Worker) -> dict[str, Any]:
    gateway = create_app(load_settings(worker_urls="http://w:1", admin_token=ADMIN_TOKEN)).state.gateway
    gateway.pool.workers.clear()
    gateway.pool.workers.update({one.id: one for one in workers})
    return await page_config(gateway)


WARM_UP = LoadingProgress(stage="warm-up", progress=0.95)


async def test_progress_is_told_while_no_worker_can_speak() -> None:
    loading = worker("a", WorkerState.LOADING, WARM_UP)
    assert (await config_of(loading))["loading"] == {"stage": "warm-up", "progress": 0.95}
    assert (await config_of(loading, worker("b", WorkerState.IDLE)))["loading"] is None
    assert (await config_of())["loading"] is None


@pytest.mark.parametrize(("device", "kind"), [("cpu", "cpu"), ("cuda:3", "cuda")])
async def test_the_kind_of_device_is_told_and_not_which(device: str, kind: str) -> None:
    assert (await config_of(worker("a", WorkerState.IDLE, device=device)))["device"] == kind
    assert (await config_of())["device"] is None


async def test_voices_are_described_as_their_model_does() -> None:
    one = worker("a", WorkerState.IDLE)
    calm = VoiceDescription(name="walter", language="en", description="A calm man", tags=("calm",))
    one.model = describe_model(voices=("walter", "zoe")).model_copy(update={"voice_details": (calm,)})
    gateway = create_app(load_settings(worker_urls="http://w:1", admin_token=ADMIN_TOKEN)).state.gateway
    gateway.pool.workers.clear()
    gateway.pool.workers["a"] = one
    default, walter, zoe = built_in_voices(gateway.pool)
    assert default["description"] == "The model's own voice"
    assert (walter["description"], walter["language"], walter["tags"]) == ("A calm man", "en", ["calm"])
    assert (zoe["description"], zoe["tags"]) == ("A voice of alpha", [])
