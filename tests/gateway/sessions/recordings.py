"""Recordings for tests: a gateway that makes them, clips that are recorded, and what became of them."""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.database import Session
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.sessions import Recording
from gateway.sessions.witness import witness_clip
from gateway.settings import load_settings
from gateway.synthesis.synthesis import Outcome, Synthesis
from tests.gateway.stages.processes import eventually
from tests.gateway.streams.stage import SEED, TEXT, Ear

RATE = 24000


def pcm(samples: int, value: int = 1) -> bytes:
    return value.to_bytes(2, "little") * samples


def wav_audio(path: Path) -> bytes:
    """The samples, as anybody's WAV reader finds them by the header."""
    with wave.open(io.BytesIO(path.read_bytes())) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return file.readframes(1 << 30)


@asynccontextmanager
async def recording_gateway(tmp_path: Path, **options: object) -> AsyncIterator[Gateway]:
    """A gateway without workers, for recordings that tests write themselves."""
    gateway = Gateway(load_settings(data_dir=tmp_path / "data", **options))
    async with gateway.running():
        yield gateway


def open_session(gateway: Gateway, kind: str = "live", owner: str = "me") -> Recording:
    recording = gateway.recorder.open(kind, {"voice": "slt"}, owner, asked=True)
    assert recording is not None
    return recording


async def row_of(gateway: Gateway, recording: Recording) -> Session | None:
    await gateway.recorder.settled(recording.session_id)
    return await gateway.recorder.index.get(recording.session_id)


def folder_of(gateway: Gateway, recording: Recording) -> Path:
    return gateway.recorder.folder / recording.session_id


async def speak(gateway: Gateway) -> tuple[Outcome, Ear, object]:
    """One recorded clip."""
    ear, request = Ear(), TtsRequest(text=TEXT, seed=SEED, record=True)
    witness = witness_clip(gateway.recorder, request, "me", ear)
    async with asyncio.timeout(60):
        outcome = await Synthesis(gateway, request, "r1", witness, witness=witness).run()
    return outcome, ear, witness


def failures(gateway: Gateway, reason: str) -> float:
    return gateway.metrics.recording_failures.labels(reason)._value.get()


async def until(condition: Callable[[], bool]) -> None:
    async def poll() -> bool | None:
        return condition() or None

    await eventually(poll, "it never came to that")


async def until_interrupted(gateway: Gateway, recording: Recording) -> Session:
    """The row, once it says so."""

    async def poll() -> Session | None:
        row = await gateway.recorder.index.get(recording.session_id)
        return row if row and row.state == "interrupted" else None

    return await eventually(poll, "the session is not interrupted")
