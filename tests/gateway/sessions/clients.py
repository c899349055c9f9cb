"""A gateway that records sessions, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from gateway.app import create_app
from gateway.audio.wav import wav_header
from gateway.service import Gateway
from gateway.sessions import Recording
from gateway.settings import load_settings

RATE = 24000
ADMIN = {"X-Admin-Token": "administrators-token"}
_FIRST_SAMPLE = len(wav_header(RATE, 0, noted=True))
SPAN = f"{_FIRST_SAMPLE}-{_FIRST_SAMPLE + 55}"
PCM = bytes(range(256)) * 40


class Clients:
    """A gateway, and clients of it at addresses of their own."""

    def __init__(self, gateway: Gateway, app: Any) -> None:
        self.gateway = gateway
        self._app = app

    def at(self, address: str, **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._app, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url="http://voxfleet", **options)

    def begin(self, owner: str, text: str = "Hello there.") -> Recording:
        """A session with one utterance, still being recorded."""
        recording = self.gateway.recorder.open("live", {"voice": "slt"}, owner, asked=True)
        index = recording.utterance(text, {"seed": 1})
        recording.worker(index, "w0")
        recording.audio(index, PCM, RATE)
        return recording

    async def record(self, owner: str, text: str = "Hello there.", utterances: int = 1) -> str:
        """A session that has ended; its id."""
        recording = self.begin(owner, text)
        for index in range(1, utterances):
            recording.utterance(text, {})
            recording.audio(index, PCM[: 100 * index], RATE)
        recording.finish("stop")
        await self.gateway.recorder.settled(recording.session_id)
        return recording.session_id


@asynccontextmanager
async def running(tmp_path: Path, **options: Any) -> AsyncIterator[Clients]:
    app = create_app(load_settings(data_dir=tmp_path / "data", admin_token=ADMIN["X-Admin-Token"], **options))
    gateway: Gateway = app.state.gateway
    async with gateway.running():
        yield Clients(gateway, app)
