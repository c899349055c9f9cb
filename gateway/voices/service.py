"""`Gateway.voices`: custom voices from their upload to their use in a request."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog

from gateway.confined.children import warn_if_unconfined
from gateway.database import Database, Voice, VoiceConsent
from gateway.database.repeats import NOT_ASKED, Asked
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.disk import Disk
from gateway.files.used_files import UsedFiles
from gateway.settings import GatewaySettings
from gateway.slots.pool import WorkerPool
from gateway.text.lookalikes import in_latin
from gateway.text.printable import is_printable, seen
from gateway.voices import consent
from gateway.voices.absent import AbsentNames
from gateway.voices.catalog import built_in_name
from gateway.voices.clip_cache import ClipCache
from gateway.voices.fields import ConsentForm, TrialForm, VoiceChange, VoiceForm
from gateway.voices.latents import LatentCache, PassingLatents
from gateway.voices.recorded_consents import RecordedConsents
from gateway.voices.recordings.checks import Check, Checked, check, examine
from gateway.voices.recordings.decoding import Decoder, Recording
from gateway.voices.recordings.noise import can_be_taken_out, without_noise
from gateway.voices.registry import VoiceRegistry, is_id, name_taken, unknown_voice
from gateway.voices.resolution import CustomSpeaker, Speaker
from gateway.voices.uploads import Uploads
from gateway.workers.client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable

logger = structlog.get_logger(__name__)


class Voices:
    """Everything about custom voices; `close` ends what it does in the background."""

    def __init__(
        self,
        settings: GatewaySettings,
        database: Database,
        pool: WorkerPool,
        clients: dict[str, WorkerClient],
        disk: Disk | None = None,
    ) -> None:
        directory = settings.data_dir / "voices"
        self.store = ContentFiles(directory, ".wav", disk)
        self._registry = VoiceRegistry(database, settings.max_voices, settings.max_voices_per_owner)
        consents = directory / "consents"
        self.consents = RecordedConsents(database, consents, settings.max_voices_per_owner, disk)
        self.uploads = Uploads()
        self.samples = ClipCache()
        """What voices sound like to those who do not hear the recording."""
        self._decoder = Decoder()
        self._latents = LatentCache(self.store, directory / "latents")
        self._pool = pool
        self._absent = AbsentNames()
        self._aliases = {name.casefold(): voice for name, voice in settings.voice_aliases.items()}
        self._clients = clients
        self._files = UsedFiles(self.store, "the audio", self._registry.uses, self._latents.forget)
        self._tasks: set[asyncio.Task[None]] = set()

    # ----------------------------------------------------------------------------------------------- requests

    async def resolve(self, reference: str, tenant: str) -> Speaker:
        """The voice that a request of `tenant` means by name, in any case, by id or by an alias.

        Raises ApiError: 403 without consent, 404 for an id that is none, 422 when several voices have the
        name, 503. A name of nobody's, or of another's voice without consent, is left to the workers' answer:
        one that has it may be loading.
        """
        reference = self._aliases.get(reference.casefold(), reference)
        built_in = built_in_name(self._pool, reference)
        if built_in is not None or not is_printable(reference):
            return Speaker(built_in or reference)
        found = await self._registry.find(reference, tenant)
        if not found and is_id(reference):
            raise unknown_voice(reference)
        agreed = [voice for voice in found if consent.is_given(voice)]
        if found and not agreed:
            raise _without_consent()
        if len(agreed) > 1:
            message = f"several voices are called {reference!r}: give the id of one"
            raise ApiError(422, "ambiguous_voice", message, param="voice")
        return CustomSpeaker(agreed[0], self._latents, self._check) if agreed else Speaker(reference)

    async def _check(self, id: str) -> None:
        await consent.check_still_given(self._registry, id, _without_consent())

    async def knows(self, reference: str, tenant: str | None = None) -> bool:
        """Whether everybody may use a voice of that name, or it is the tenant's own; not while custom voices
        cannot be reached.
        """
        if reference.casefold() in self._aliases or built_in_name(self._pool, reference) is not None:
            return True
        if (reference, tenant) in self._absent:
            return False
        try:
            found = await self._registry.find(reference, tenant)
        except ApiError:  # which is in the log
            return False
        if not found:
            self._absent.add((reference, tenant))
        return bool(found)

    # ------------------------------------------------------------------------------------------- the registry

    async def create(
        self, file: int, form: VoiceForm, owner: str, id: str | None = None, asked: Asked = NOT_ASKED
    ) -> tuple[Voice, list[Check]]:
        """A new voice of `owner` from an open audio file, and remarks on it; `id` as of adapters.

        Raises ApiError: 409 for the name or too many voices, 422 for the audio, 503, 507.
        """
        self._check_name(form.name)
        voice, audio, checks = await self._read(file, form, owner)
        voice.id = id
        asked.mark(voice)
        async with self._files.keeping(audio, voice.audio_sha256):
            voice = await self._registry.add(voice)
            self._absent.clear()
        self._prepare(voice)
        return voice, checks

    async def try_out(self, file: int, form: TrialForm, owner: str) -> tuple[Voice, Speaker]:
        """A voice that is in no list and kept nowhere, from an open audio file, to be spoken with once.

        Raises ApiError: 403 without consent, 422 for the audio, 503.
        """
        voice, audio, _ = await self._read(file, form, owner)
        if not consent.is_given(voice):
            message = "nobody has agreed to the use of this voice: send a consent with it"
            raise ApiError(403, "voice_without_consent", message, param="consent_statement")
        return voice, CustomSpeaker(voice, PassingLatents(audio))

    async def _read(self, file: int, form: VoiceForm, owner: str) -> tuple[Voice, bytes, list[Check]]:
        """A row of no table yet, its audio as it is kept, and remarks. Raises ApiError: 422, 503."""
        recording = await self._recording(file, form.denoise)
        cleanable = can_be_taken_out(form.denoise)
        checked, audio, audio_sha256 = await asyncio.to_thread(_examine, recording, cleanable)
        voice = Voice(
            owner=owner,
            audio_sha256=audio_sha256,
            audio_seconds=checked.recording.seconds,
            loudness_lufs=checked.loudness_lufs,
            **form.columns,
            **_consent_columns(form, audio_sha256),
        )
        return voice, audio, checked.checks

    async def examine(self, file: int, denoise: bool | None = None) -> Checked:
        """What is heard in an open audio file, of which nothing is kept. Raises ApiError: 422, 503.

        denoise: whether noise is taken out of it; None: nobody can ask for that.
        """
        recording = await self._recording(file, bool(denoise))
        cleanable = denoise is not None and can_be_taken_out(denoise)
        return await asyncio.to_thread(examine, recording, cleanable)

    async def _recording(self, file: int, denoise: bool) -> Recording:
        """What is in an open audio file, without noise if that is wanted. Raises ApiError: 422, 503."""
        recording = await self._decoder.decode(file)
        return await without_noise(recording) if denoise else recording

    async def record_consent(
        self, file: int, form: ConsentForm, owner: str, asked: Asked = NOT_ASKED
    ) -> VoiceConsent:
        """Keep a spoken consent, an open audio file. Raises ApiError: 409, 422 for the audio, 503, 507."""
        recording = await self._decoder.decode(file)
        _, audio, audio_sha256 = await asyncio.to_thread(_examine, recording)
        return await self.consents.add(form, audio, audio_sha256, owner, asked)

    async def change(self, voice: Voice, change: VoiceChange) -> Voice:
        """What `change` says. Raises ApiError: 404, 409, 503."""
        if "name" in change.model_fields_set:
            self._check_name(change.name)
        columns = change.columns | _consent_columns(change, voice.audio_sha256)
        voice = await self._registry.change(voice.id, columns)
        self._absent.clear()
        self.samples.forget(voice.id)
        self._prepare(voice)
        return voice

    async def remove(self, id: str) -> None:
        """Delete a voice, and its audio when no other voice uses it. Raises ApiError: 404, 503."""
        await self._files.let_go(self._remove(id))

    async def _remove(self, id: str) -> str | None:
        unused = await self._registry.remove(id)
        self.samples.forget(id)
        return unused

    async def has(self, id: str) -> bool:
        """Whether there is one of that id. Raises ApiError 503."""
        return await self._registry.get(id) is not None

    async def get(self, id: str, tenant: str | None, is_admin: bool = False) -> Voice:
        """A voice that the caller may see. Raises ApiError 404, 503."""
        voice = await self._registry.get(id)
        if voice is None or not consent.may_see(voice, tenant, is_admin):
            raise unknown_voice(id)
        return voice

    async def visible_to(self, tenant: str | None, is_admin: bool = False) -> Sequence[Voice]:
        """The custom voices that the caller may see; none while the database cannot be used."""
        try:
            return await self._registry.visible_to(tenant, everything=is_admin)
        except ApiError:  # it is in the log; the built-in voices can be used all the same
            return []

    def _check_name(self, name: str) -> None:
        if built_in_name(self._pool, in_latin(seen(name))) is not None:
            raise name_taken(name)

    # -------------------------------------------------------------------------------------- in the background

    def _prepare(self, voice: Voice) -> None:
        """Have it encoded for every model that is served, so that its first use is quick."""
        if consent.is_given(voice):
            self._spawn(self._encode_everywhere(voice))

    def start(self) -> None:
        """Say what does not protect uploads here, and look for audio that a killed gateway left behind."""
        warn_if_unconfined()
        for files in (self._files, self.consents.files):
            self._spawn(files.remove_leftovers())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _encode_everywhere(self, voice: Voice) -> None:
        speaker = CustomSpeaker(voice, self._latents)
        needed = speaker.requirement(None)
        done: set[str] = set()
        for worker in sorted(self._pool.workers.values(), key=lambda worker: len(worker.leases)):
            client = self._clients.get(worker.id)
            if client is None or not worker.serving or not worker.offers(needed):
                continue
            if worker.model.revision in done:
                continue
            try:
                await speaker.encode(worker.model, client)
            except (ApiError, WorkerUnreachable, WorkerRefused, RequestRejected) as error:
                logger.info("a voice was not encoded ahead", worker=worker.id, error=type(error).__name__)
            else:
                done.add(worker.model.revision)

    async def close(self) -> None:
        """End what is done in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _consent_columns(said: VoiceChange, audio_sha256: str) -> dict[str, Any]:
    """A consent that was given or withdrawn; nothing when nothing was said."""
    if "consent_by" not in said.model_fields_set:
        return {}
    return consent.columns_of(said.consent_by, said.consent_statement, audio_sha256, now())


def _examine(recording: Recording, cleanable: bool = False) -> tuple[Checked, bytes, str]:
    """The audio as it is kept, as a wav file, and the hash of that. Raises ApiError 422."""
    checked = check(recording, cleanable)
    audio = checked.recording.wav()
    return checked, audio, hashlib.sha256(audio).hexdigest()


def _without_consent() -> ApiError:
    message = "nobody has agreed to the use of this voice: add a consent to it first"
    return ApiError(403, "voice_without_consent", message, param="voice")
