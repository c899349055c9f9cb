"""Gateways with workers that keep a script, and who hears what they speak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.settings import load_settings
from gateway.streams.listener import Listener
from gateway.synthesis.synthesis import Outcome, Synthesis
from tests.gateway.stages.scripted_worker import ScriptedWorker, frames_of
from worker.protocol import StartRequest

TEXT = "Faults are planned for."
SEED = 3
PATCHES = len(frames_of(StartRequest(request_id="r", text=TEXT, seed=SEED)))
_SILENCES = ("frame_timeout_seconds", "stall_timeout_seconds", "accept_timeout_seconds")
PATIENT = {**dict.fromkeys(_SILENCES, 60), "health_retry_seconds": 0.02, "failover_timeout_seconds": 5}
"""A busy computer is not taken for a worker that says nothing."""
IMPATIENT = dict.fromkeys(_SILENCES, 0.3)
"""With workers that do say nothing."""


def pcm_of(text: str) -> bytes:
    return b"".join(frame.pcm for frame in frames_of(StartRequest(request_id="r", text=text, seed=SEED)))


def latents_of(text: str) -> bytes:
    """Of all speech that says it."""
    return b"".join(frame.latents for frame in frames_of(StartRequest(request_id="r", text=text, seed=SEED)))


CLIP = pcm_of(TEXT)


class Ear(Listener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.pcm = b""
        self.starts: list[str] = []
        self.on_audio = asyncio.Event()

    def started(self, worker_id: str, sample_rate: int) -> None:
        self.starts.append(worker_id)

    def audio(self, pcm: bytes) -> None:
        self.pcm += pcm
        self.on_audio.set()


@asynccontextmanager
async def gateway_of(*workers: ScriptedWorker, **options: object) -> AsyncIterator[Gateway]:
    """A running gateway whose workers are all up; nothing may be held when the block ends."""
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker.running())
        urls = ",".join(worker.url for worker in workers)
        gateway = Gateway(load_settings(worker_urls=urls, **{**PATIENT, **options}))
        await stack.enter_async_context(gateway.running())
        await all_serving(gateway)
        yield gateway
        assert not gateway.pool.tickets
        assert not any(worker.leases for worker in gateway.pool.workers.values())


async def all_serving(gateway: Gateway) -> None:
    changed = asyncio.Event()
    gateway.pool.on_change.append(changed.set)
    async with asyncio.timeout(60):
        while not all(worker.serving for worker in gateway.pool.workers.values()):
            changed.clear()
            await changed.wait()
    gateway.pool.on_change.remove(changed.set)


def prefer_the_first(gateway: Gateway) -> None:
    """Hold the second worker back for a moment."""
    gateway.pool.reports.refused(gateway.pool.workers["w1"])


async def speak(gateway: Gateway, ear: Ear, text: str = TEXT) -> Outcome:
    async with asyncio.timeout(60):
        return await Synthesis(gateway, TtsRequest(text=text, seed=SEED), "r1", ear).run()
