"""How a built-in voice sounds: one sentence, spoken by a worker when somebody first asks, then kept."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from gateway.audio.formats import encode_clip
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.slots.requirement import Requirement
from gateway.synthesis.synthesis import Synthesis
from worker.protocol import ModelDescription

_SENTENCES = {
    "en": "Hello, this is what I sound like. The quick brown fox jumps over the lazy dog.",
    "zh": "你好,这是我的声音。今天天气很好,我们一起出去走走吧。",
}
_SEED = 1


class _Ear:
    """A listener that keeps the audio."""

    def __init__(self) -> None:
        self.pcm: list[bytes] = []

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """Nobody to tell."""

    def started(self, worker_id: str, sample_rate: int) -> None:
        """Nobody to tell."""

    def audio(self, pcm: bytes) -> None:
        self.pcm.append(pcm)


async def built_in_preview(gateway: Gateway, name: str, request: Request) -> bytes:
    """The clip of a built-in voice as wav, in the place in line of who asks first. Raises ApiError."""
    model = _model_with(gateway, name)
    previews, key = gateway.voices.previews, (model.revision, name)
    async with previews.lock(key):
        if (kept := previews.get(key)) is not None:
            return kept
        language = model.languages[0] if model.languages else "en"
        text = _SENTENCES.get(language, _SENTENCES["en"])
        order = TtsRequest(text=text, voice=name, model=model.name, seed=_SEED)
        standing = gateway.callers.identify(request).standing(order)
        ear = _Ear()
        outcome = await Synthesis(gateway, order, request.state.request_id, ear, standing).run()
        noted = gateway.settings.provenance_note
        pcm = b"".join(ear.pcm)
        clip = await asyncio.to_thread(encode_clip, pcm, outcome.sample_rate, "wav", noted=noted)
        previews.keep(key, clip)
        return clip


def _model_with(gateway: Gateway, name: str) -> ModelDescription:
    needed = Requirement(voice=name)
    for worker in gateway.pool.workers.values():
        if worker.serving and worker.offers(needed):
            return worker.model
    raise gateway.pool.why_unservable(needed) or ApiError(503, "no_worker", "no worker is up yet")
