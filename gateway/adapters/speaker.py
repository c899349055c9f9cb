"""A voice that speaks with an adapter: whatever a `Speaker` is asked for, with the adapter added."""

from __future__ import annotations

from dataclasses import replace

from gateway.adapters.files import OpenAdapter
from gateway.database import Adapter
from gateway.requests import TtsRequest
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from gateway.streams.clip.conditioning import Conditioning
from gateway.voices.resolution import Check, Speaker
from gateway.workers.client import WorkerClient
from worker.protocol import AdapterUse


class AdaptedSpeaker(Speaker):
    """The voice itself may be any: the default one, one of the model, one that was recorded."""

    def __init__(self, voice: Speaker, row: Adapter, file: OpenAdapter, check: Check) -> None:
        super().__init__(voice.name)
        self._check = check
        self.title, self.kind = voice.title, voice.kind
        self._voice, self._row = voice, row
        self._file = file
        """Held, so that it can be read."""

    def fill_in(self, request: TtsRequest) -> TtsRequest:
        """With the id of the adapter, whose content stays: a clip that goes on later finds the same."""
        return self._voice.fill_in(request).model_copy(update={"adapter": self._row.id})

    def requirement(self, model: str | None, revision: str | None = None) -> Requirement:
        """The very weights that it was found to fit; by preference a worker that has it."""
        row = self._row
        needed = self._voice.requirement(model or row.model, revision or row.model_revision)
        return replace(needed, adapters=True, affinity=row.digest)

    async def conditioning(self, worker: Worker, client: WorkerClient) -> Conditioning:
        """The voice's, and which adapter; `WorkerClient.generate` sends it to a worker that lacks it."""
        conditioning = await self._voice.conditioning(worker, client)
        worker.remember(self._row.digest)
        return replace(conditioning, adapter=AdapterUse(digest=self._row.digest, name=self._row.name))

    async def check(self) -> None:
        """Raises ApiError where voice or adapter may not be used any more."""
        await self._voice.check()
        await self._check(self._row.id)
