"""`Gateway.voices`: custom voices from their upload to their use in a request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from gateway.database import Database, Voice
from gateway.errors import ApiError
from gateway.pool import WorkerPool
from gateway.settings import GatewaySettings
from gateway.voices.catalog import is_built_in
from gateway.voices.latents import LatentCache
from gateway.voices.registry import VoiceRegistry, name_taken, unknown_voice
from gateway.voices.resolution import CustomSpeaker, Speaker
from gateway.voices.store import VoiceStore
from gateway.worker_client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable

logger = structlog.get_logger(__name__)


class Voices:
    """Everything about voices; `close` ends what it does in the background."""

    def __init__(
        self,
        settings: GatewaySettings,
        database: Database,
        pool: WorkerPool,
        clients: dict[str, WorkerClient],
    ) -> None:
        directory = settings.data_dir / "voices"
        self.registry = VoiceRegistry(database, settings.max_voices, settings.max_voices_per_owner)
        self.store = VoiceStore(directory)
        self._latents = LatentCache(self.store, directory / "latents")
        self._pool = pool
        self._clients = clients
        self._files = asyncio.Lock()
        """Between looking whether a file is used and acting on it."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def resolve(self, reference: str) -> Speaker:
        """The voice that a request means by name or id.

        Raises ApiError: 403 without consent, 422 when several voices have the name, 503. A name that nobody
        knows is left to the workers' answer: one that has the voice may still be loading.
        """
        if is_built_in(self._pool, reference):
            return Speaker(reference)
        found = await self.registry.find(reference)
        agreed = [voice for voice in found if voice.consent_at is not None]
        if found and not agreed:
            message = "nobody has agreed to the use of this voice: add a consent to it first"
            raise ApiError(403, "voice_without_consent", message, param="voice")
        if len(agreed) > 1:
            message = f"several voices are called {reference!r}: give the id of one"
            raise ApiError(422, "ambiguous_voice", message, param="voice")
        return CustomSpeaker(agreed[0], self._latents) if agreed else Speaker(reference)

    async def add(self, voice: Voice, audio: bytes) -> Voice:
        """Keep a voice with its audio, a wav file. Raises ApiError: 409, 503, 507."""
        if is_built_in(self._pool, voice.name):
            raise name_taken(voice.name)
        async with self._files:
            try:
                voice.audio_sha256 = await self.store.save(audio)
            except OSError as error:
                logger.error("a voice cannot be stored", error=type(error).__name__)
                raise ApiError(507, "storage_failed", "the audio cannot be stored") from error
            try:
                voice = await self.registry.add(voice)
            except ApiError:
                await self._drop_if_unused(voice.audio_sha256)
                raise
        self.prepare(voice)
        return voice

    async def change(self, voice: Voice, changes: dict[str, Any]) -> Voice:
        """Set columns of a voice. Raises ApiError: 404, 409, 503."""
        name = changes.get("name")
        if name is not None and is_built_in(self._pool, name):
            raise name_taken(name)
        voice = await self.registry.change(voice.id, changes)
        self.prepare(voice)
        return voice

    async def remove(self, id: str) -> None:
        """Delete a voice, and its audio when no other voice uses it. Raises ApiError: 404, 503."""
        async with self._files:
            unused = await self.registry.remove(id)
            if unused is not None:
                await self._delete_audio(unused)

    async def _drop_if_unused(self, audio_sha256: str) -> None:
        if not await self.registry.uses(audio_sha256):
            await self._delete_audio(audio_sha256)

    async def _delete_audio(self, audio_sha256: str) -> None:
        await self.store.delete(audio_sha256)
        await self._latents.forget(audio_sha256)

    async def get(self, id: str, tenant: str | None, is_admin: bool = False) -> Voice:
        """A voice that the caller may see. Raises ApiError 404, 503."""
        voice = await self.registry.get(id)
        if voice is None or not (is_admin or voice.consent_at is not None or voice.owner == tenant):
            raise unknown_voice(id)
        return voice

    async def visible_to(self, tenant: str | None, is_admin: bool = False) -> Sequence[Voice]:
        """The custom voices that the caller may see; none while the database cannot be used."""
        try:
            return await self.registry.visible_to(tenant, everything=is_admin)
        except ApiError:  # it is in the log; the built-in voices can be used all the same
            return []

    # -------------------------------------------------------------------------------------- in the background

    def prepare(self, voice: Voice) -> None:
        """Have it encoded for every model that is served, so that its first use is quick."""
        if voice.consent_at is None:
            return
        task = asyncio.create_task(self._encode_everywhere(voice))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _encode_everywhere(self, voice: Voice) -> None:
        speaker = CustomSpeaker(voice, self._latents)
        needed = speaker.requirement(None)
        done: set[str] = set()
        for worker in sorted(self._pool.workers.values(), key=lambda worker: len(worker.leases)):
            if not worker.serving or not worker.offers(needed) or worker.model.revision in done:
                continue
            try:
                await speaker.encode(worker.model, self._clients[worker.id])
            except (ApiError, WorkerUnreachable, WorkerRefused, RequestRejected) as error:
                logger.info("a voice was not encoded ahead", worker=worker.id, error=type(error).__name__)
            else:
                done.add(worker.model.revision)

    async def close(self) -> None:
        """End what is done in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
