"""Who speaks in a live session: the same voice, model, seed and lexicon for all its sentences."""

from __future__ import annotations

from dataclasses import replace

from gateway.live.messages import Start
from gateway.operations.measurements.objectives import Kind
from gateway.requests import random_seed
from gateway.service import Gateway
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.voices.resolution import Speaker, VoiceKind
from gateway.workers.client import WorkerClient


class LiveSpeaker:
    """As the session's first message names it; what that leaves open is known after `find`."""

    def __init__(self, gateway: Gateway, start: Start, tenant: str) -> None:
        self._gateway, self._start, self._tenant = gateway, start, tenant
        self.seed = random_seed() if start.seed is None else start.seed
        self.lexicon = gateway.lexicons.known(tenant, start.lexicon)
        self.model: str | None = None
        """None: any."""
        self._speaker = Speaker(start.voice)

    async def find(self) -> None:
        """Look up the voice, what it fills in, and the lexicon. Raises what `Gateway.speaker_of` raises."""
        self._speaker = await self._gateway.speaker_of(self._start.request("x"), self._tenant)
        options = self._speaker.fill_in(self._start.request("x"))
        self.model = options.model
        self.seed = self.seed if options.seed is None else options.seed
        self.lexicon = await self._gateway.lexicons.of(self._tenant, self._start.lexicon)

    @property
    def title(self) -> str:
        """What the voice is called."""
        return self._speaker.title

    @property
    def voice_kind(self) -> VoiceKind:
        """The kind of the voice, as far as it is known."""
        return self._speaker.kind

    def kind(self, protocol: str) -> Kind:
        """The kind of its requests, for what is measured."""
        kind = Kind.of(model=self.model, voice=self._start.voice, protocol=protocol, tenant=self._tenant)
        return replace(kind, voice=self._speaker.kind)

    def requirement(self) -> Requirement:
        """What a worker must offer to speak the next sentence."""
        return self._speaker.requirement(self.model)

    def same_model(self, clip: Clip | None) -> Requirement | None:
        """What was begun stays with its model; None where nothing was."""
        model = clip.model if clip and clip.begun else None
        return self._speaker.requirement(model.name, model.revision) if model else None

    def clip(self, text: str, number: int) -> Clip:
        """A sentence, which is the session's so many-th."""
        request = self._speaker.fill_in(self._start.request(text))
        longest_seconds = self._gateway.settings.max_audio_seconds
        clip = Clip(request, self.seed, longest_seconds, number=number, tells_words=True)
        clip.say_with(self.lexicon)
        return clip

    async def conditioning(self, worker: Worker, client: WorkerClient) -> Conditioning:
        """What the worker is told of the voice. Raises what `Speaker.conditioning` raises."""
        return await self._speaker.conditioning(worker, client)

    async def check(self) -> None:
        """Raises what `Speaker.check` raises."""
        await self._speaker.check()
