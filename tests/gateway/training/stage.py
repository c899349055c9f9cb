"""A gateway whose trainings nobody works on, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx
import pytest

from gateway.app import create_app
from gateway.database import Training
from gateway.settings import load_settings
from gateway.training.outcome import make_adapter, make_voice
from gateway.training.service import Trainings
from tests.gateway.training.conftest import CONSENT, clip
from worker.protocol import AdapterDescription

TRAINING = {"name": "Anna", **CONSENT}


class Service:
    """A gateway whose trainings nobody works on, and clients of it at addresses of their own."""

    def __init__(self, app: Any) -> None:
        self.trainings: Trainings = app.state.trainings
        self.gateway = app.state.gateway
        self._app = app

    def at(self, address: str = "10.0.0.1") -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._app, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url="http://voxfleet")

    async def begin(self, address: str = "10.0.0.1", **fields: Any) -> str:
        async with self.at(address) as http:
            answer = await http.post("/api/trainings", json={**TRAINING, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()["training"]["id"]

    async def send(self, training: str, audio: bytes | None = None, **fields: str) -> httpx.Response:
        form = {"transcript": "hello world again", **fields}
        async with self.at() as http:
            return await http.post(
                f"/api/trainings/{training}/recordings",
                data=form,
                files={"audio": ("../../a.wav", clip(seconds=2.5) if audio is None else audio)},
            )


@asynccontextmanager
async def running(tmp_path: Path, **options: Any) -> AsyncIterator[Service]:
    options = {"training_base": "bundled", "data_dir": tmp_path / "data", **options}
    app = create_app(load_settings(worker_urls=[], **options))
    async with app.state.gateway.running():
        yield Service(app)


async def made(service: Service, monkeypatch: pytest.MonkeyPatch) -> tuple[Training, str]:
    """A training of which an adapter and a voice came: its row with that adapter, and the id of the voice."""
    about = {"base": "", "model": "m", "model_revision": "1"}
    read = AdapterDescription(digest="a" * 64, rank=8, num_layers=1, num_parameters=10, **about)
    monkeypatch.setattr(service.gateway.adapters, "_examined", AsyncMock(return_value=read))
    id = await service.begin()
    assert (await service.send(id)).status_code == 201
    files, store = service.trainings.files(id), service.trainings.store
    files.learnt.mkdir(parents=True)
    (files.learnt / "lora_config.json").write_text("{}")
    files.weights.write_bytes(b"weights")
    row = await store.get(id)
    assert row is not None
    row.adapter_id = await make_adapter(service.gateway, row, files)
    return row, await make_voice(service.gateway, row, files, await store.recordings(id))
