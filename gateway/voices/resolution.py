"""The voice of one request: what its worker must be able to do, and what is sent there.

    speaker = await gateway.voices.resolve(request.voice, tenant)
    request = speaker.fill_in(request)                    # the voice's own parameters, where nothing is said
    ... a lease for speaker.requirement(request.model) ...
    clip.conditioning = await speaker.conditioning(lease.worker, client)
    await speaker.check()                                 # before each part or sentence

What a speaker has encoded it keeps, so a clip goes on when its voice is deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal

from gateway.database import Voice
from gateway.requests import TtsRequest
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from gateway.streams.clip.conditioning import Conditioning, words_before
from gateway.voices.latents import LatentCache, PassingLatents
from gateway.workers.client import WorkerClient
from worker.protocol import ModelDescription

REFERENCE, PROMPT = "reference", "prompt"


def features_for(voice: Voice) -> frozenset[str]:
    """The features of a model of which one is enough for a custom voice."""
    return frozenset((REFERENCE, PROMPT) if voice.transcript else (REFERENCE,))


Check = Callable[[str], Awaitable[None]]
"""Raises ApiError where what has this id may not be used any more."""
VoiceKind = Literal["built_in", "custom", "recording"]
"""A voice of the model, one that was kept, or a recording that came with the request."""


class Speaker:
    """A voice that the workers have by name."""

    kind: VoiceKind = "built_in"

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = name
        """What its owner, or the model, calls it."""

    def fill_in(self, request: TtsRequest) -> TtsRequest:
        """The request with the voice's own parameters where it says nothing."""
        return request

    def requirement(self, model: str | None, revision: str | None = None) -> Requirement:
        """What a worker must offer to speak with it."""
        return Requirement(model, self.name, revision)

    async def conditioning(self, worker: Worker, client: WorkerClient) -> Conditioning:
        """What the worker is told. Raises what `WorkerControl.encode` raises, ApiError."""
        return Conditioning(self.name)

    async def check(self) -> None:
        """Raises ApiError 403, 404 for what nobody agrees to any more, or what is deleted."""


class CustomSpeaker(Speaker):
    """A voice that comes with the request, as latents."""

    def __init__(
        self, voice: Voice, latents: LatentCache | PassingLatents, check: Check | None = None
    ) -> None:
        """`check`: of a voice that is kept."""
        super().__init__("default")
        self._check = check
        self.title = voice.name
        self._voice = voice
        self._latents = latents
        self.kind = "recording" if isinstance(latents, PassingLatents) else "custom"
        self._made: dict[str, Conditioning] = {}
        """By revision of the model."""

    def fill_in(self, request: TtsRequest) -> TtsRequest:
        """The request with the voice's own parameters where it says nothing."""
        missing: dict[str, Any] = {
            name: value for name, value in self._voice.parameters.items() if getattr(request, name) is None
        }
        return request.model_copy(update=missing)

    def requirement(self, model: str | None, revision: str | None = None) -> Requirement:
        """A model that takes its audio; by preference a worker that did so recently."""
        return Requirement(
            model, self.name, revision, features_for(self._voice), affinity=self._voice.audio_sha256
        )

    async def conditioning(self, worker: Worker, client: WorkerClient) -> Conditioning:
        """Its latents for the worker's model, encoded there if they never were."""
        revision = worker.model.revision
        if revision not in self._made:
            self._made[revision] = await self.encode(worker.model, client)
        worker.remember(self._voice.audio_sha256)
        return self._made[revision]

    async def check(self) -> None:
        """Raises ApiError where it may not be used any more."""
        if self._check is not None:
            await self._check(self._voice.id)

    async def encode(self, model: ModelDescription, client: WorkerClient) -> Conditioning:
        """Its latents for `model`, which the worker behind `client` serves."""
        voice, get = self._voice, self._latents.get
        reference = prompt = None
        if REFERENCE in model.features:
            reference = await get(voice.audio_sha256, REFERENCE, model, client)
        too_long = reference is not None and not model.continues(voice.audio_seconds)
        if voice.transcript and PROMPT in model.features and not too_long:
            prompt = await get(voice.audio_sha256, PROMPT, model, client)
        return Conditioning(self.name, reference, words_before(voice.transcript) if prompt else None, prompt)


class DirectedSpeaker(Speaker):
    """A voice that is told how to speak. Its recording is a reference alone: what goes on with a prompt is
    spoken as that is, and would read the instructions aloud.
    """

    def __init__(self, voice: Speaker) -> None:
        super().__init__(voice.name)
        self.title, self.kind = voice.title, voice.kind
        self._voice = voice

    def fill_in(self, request: TtsRequest) -> TtsRequest:
        """Fill in what the request leaves out with the voice's parameters."""
        return self._voice.fill_in(request)

    def requirement(self, model: str | None, revision: str | None = None) -> Requirement:
        """The voice's, of a model that can be told."""
        return replace(self._voice.requirement(model, revision), instructions=True)

    async def conditioning(self, worker: Worker, client: WorkerClient) -> Conditioning:
        """The voice's, without its prompt where there is a reference."""
        made = await self._voice.conditioning(worker, client)
        return made if made.reference_latents is None else made.without_prompt

    async def check(self) -> None:
        """As the voice does."""
        await self._voice.check()
