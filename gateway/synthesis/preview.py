"""How a voice sounds: one sentence, spoken by a worker when somebody first asks, then kept.

Of a voice that somebody is about to make it is spoken each time, and kept nowhere.

Whoever asks first waits in line for it, in the lowest class; those who ask meanwhile wait for the same clip.
"""

from __future__ import annotations

import asyncio
import hashlib
import json

from starlette.requests import Request

from gateway.audio.formats import encode_clip
from gateway.database import Voice
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.requirement import Requirement
from gateway.streams.listener import Listener
from gateway.synthesis.synthesis import Synthesis
from gateway.text import NO_LEXICON
from gateway.voices.clip_cache import ClipKey
from gateway.voices.resolution import Speaker, features_for
from worker.protocol import ModelDescription

_SENTENCES = {
    "en": "Hello, this is what I sound like. The quick brown fox jumps over the lazy dog.",
    "zh": "你好,这是我的声音。今天天气很好,我们一起出去走走吧。",
}
_SEED = 1


class _Ear(Listener):
    """Keeps the audio."""

    def __init__(self) -> None:
        self.pcm: list[bytes] = []

    def audio(self, pcm: bytes) -> None:
        self.pcm.append(pcm)


async def built_in_sample(gateway: Gateway, name: str, request: Request) -> bytes:
    """A sentence of a built-in voice as wav. Raises ApiError."""
    model = _model_with(gateway, Requirement(voice=name))
    order = _order(name, model, None, _SEED)
    return await _made_once(gateway, ClipKey(model.revision, name), order, request)


async def custom_sample(gateway: Gateway, voice: Voice, request: Request) -> bytes:
    """A sentence of a custom voice as wav: its sound, and nothing of its recording. Raises ApiError.

    404 for one that was deleted meanwhile, or whose consent was withdrawn.
    """
    model = _model_with(gateway, Requirement(voice.parameters.get("model"), features=features_for(voice)))
    order = _order(voice.id, model, voice.language, voice.parameters.get("seed", _SEED))
    clip = await _made_once(gateway, ClipKey(model.revision, voice.id, _version(voice)), order, request)
    try:
        await gateway.voices.get(voice.id, tenant=None)
    except ApiError:
        gateway.voices.samples.forget(voice.id)
        raise
    return clip


async def trial(gateway: Gateway, voice: Voice, speaker: Speaker, language: str, request: Request) -> bytes:
    """A sentence of a voice that is not kept, as wav, for somebody who waits for it. Raises ApiError."""
    model = _model_with(gateway, speaker.requirement(voice.parameters.get("model")))
    order = _order("default", model, language, voice.parameters.get("seed", _SEED))
    order = order.model_copy(update={"priority": None})
    standing = gateway.callers.identify(request).standing(order)
    return await _spoken(gateway, order, request, standing, speaker)


async def _made_once(gateway: Gateway, key: ClipKey, order: TtsRequest, request: Request) -> bytes:
    samples = gateway.voices.samples
    async with samples.lock(key):
        if (kept := samples.get(key)) is not None:
            return kept
        standing = gateway.callers.identify(request).standing(order)
        clip = await _spoken(gateway, order, request, standing)
        samples.keep(key, clip)
        return clip


async def _spoken(
    gateway: Gateway, order: TtsRequest, request: Request, standing: Standing, speaker: Speaker | None = None
) -> bytes:
    """The clip as wav; the same for everybody, so no lexicon is used. Raises ApiError."""
    ear = _Ear()
    id = request.state.request_id
    synthesis = Synthesis(gateway, order, id, ear, standing, lexicon=NO_LEXICON, whole=True, speaker=speaker)
    outcome = await synthesis.run()
    noted = gateway.settings.provenance_note
    return await asyncio.to_thread(encode_clip, b"".join(ear.pcm), outcome.sample_rate, "wav", noted=noted)


def _order(voice: str, model: ModelDescription, language: str | None, seed: int) -> TtsRequest:
    """What is synthesised: in the voice's language where the model has it, else in the model's own."""
    known = [language.partition("-")[0].lower()] if language else []
    known = [one for one in known if one in model.languages or not model.languages] + list(model.languages)
    text = next((_SENTENCES[one] for one in known if one in _SENTENCES), _SENTENCES["en"])
    return TtsRequest(text=text, voice=voice, model=model.name, seed=seed, priority=Priority.BULK.value)


def _version(voice: Voice) -> str:
    """Changes with whatever changes the sound, at whichever gateway that was said."""
    said = [voice.audio_sha256, voice.transcript, voice.language, voice.parameters]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _model_with(gateway: Gateway, needed: Requirement) -> ModelDescription:
    for worker in gateway.pool.workers.values():
        if worker.serving and worker.offers(needed):
            return worker.model
    raise gateway.pool.why_unservable(needed) or ApiError(503, "no_worker", "no worker is up yet")
