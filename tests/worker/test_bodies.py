"""Bodies that gateways send: who stalls or vanishes while it sends one does not hold up the others."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from gateway.workers.control import ADAPTER_SECONDS, ENCODE_SECONDS
from tests.gateway.stages.processes import eventually
from worker import app as worker_app
from worker.app import create_app
from worker.engines.synthetic import INFO, SyntheticEngine
from worker.protocol import ADAPTERS, WorkerState, pack_adapter
from worker.settings import WorkerSettings

BODY = pack_adapter({"r": 1}, bytes(100))
ADAPTERS_PATH = f"/adapters?digest={hashlib.sha256(BODY).hexdigest()}"


class Adapters:
    """Which takes any and reads none."""

    limit = 4

    def add(self, name: str, adapter: Any) -> SimpleNamespace:
        return SimpleNamespace(
            name=name, digest=name, rank=1, num_layers=1, num_parameters=1, base="", num_bytes=10
        )


class Engine(SyntheticEngine):
    """Of tones, with adapters."""

    info = dataclasses.replace(INFO, features=(*INFO.features, ADAPTERS))
    max_adapter_bytes = 1 << 20
    adapters = Adapters()

    def received_adapter(self, config: dict[str, Any], weights: bytes) -> SimpleNamespace:
        return SimpleNamespace(digest="a" * 64, base_digest="")


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(WorkerSettings(), lambda settings, report: Engine())
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://worker") as client,
    ):

        async def is_idle() -> bool | None:
            return app.state.worker.state is WorkerState.IDLE or None

        await eventually(is_idle, "the worker is not idle")
        yield client


async def stalling() -> AsyncIterator[bytes]:
    yield BODY[:50]
    await asyncio.Event().wait()


async def dribbling() -> AsyncIterator[bytes]:
    while True:
        yield b"x"
        await asyncio.sleep(0.01)


def refused(response: httpx.Response) -> tuple[int, str, str]:
    assert response.headers["Connection"] == "close"
    error = response.json()["error"]
    return response.status_code, error["code"], error["param"]


@pytest.mark.parametrize(("path", "param"), [(ADAPTERS_PATH, "adapter"), ("/encode", "audio")])
@pytest.mark.parametrize("body", [stalling, dribbling])
async def test_a_body_that_stalls_or_dribbles_is_given_up(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, path: str, param: str, body: Any
) -> None:
    monkeypatch.setattr(worker_app, "_SILENT_SECONDS", 0.2)
    monkeypatch.setattr(worker_app, "_BODY_SECONDS", 0.3)
    assert refused(await http.post(path, content=body())) == (408, "slow_sender", param)


async def test_an_adapter_is_taken_when_one_that_stalls_was_given_up(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_app, "_SILENT_SECONDS", 0.2)
    stalled = asyncio.create_task(http.post(ADAPTERS_PATH, content=stalling()))
    await asyncio.sleep(0.05)
    taken = await http.post(ADAPTERS_PATH, content=BODY)
    assert taken.status_code == 200, taken.text
    assert refused(await stalled)[1] == "slow_sender"


def test_a_worker_answers_before_gateways_give_up() -> None:
    limit_seconds = min(ADAPTER_SECONDS, ENCODE_SECONDS)
    assert worker_app._SILENT_SECONDS < worker_app._BODY_SECONDS < limit_seconds
