"""`/api/voices`: the voices there are; making, changing and deleting one's own.

Everybody who may use the service sees and uses voices with consent. One without is seen by its owner and by
administrators. They alone change, delete, and hear the recording; others hear a sentence spoken with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from gateway.api.permissions import MUTATION, is_admin, tenant_or_none, who_changes
from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.api.transfer.file_response import RangedFileResponse
from gateway.api.transfer.repeats import KeyDep, asked_with
from gateway.api.transfer.upload import uploaded
from gateway.audio.note import note_headers
from gateway.callers.origin import FOR_ANY_PAGE, is_same_origin, may_play
from gateway.database import Adapter, Voice
from gateway.database.repeats import Asked, made_once
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.synthesis.preview import built_in_sample, custom_sample, trial
from gateway.training import learnt
from gateway.voices import consent
from gateway.voices.catalog import (
    adapter_of,
    built_in_voices,
    custom_voices,
    describe,
    describe_all,
    is_built_in,
    is_of,
)
from gateway.voices.fields import VoiceChange, VoiceForm, read_check_form, read_form, read_trial_form
from gateway.voices.recordings.checks import Check
from gateway.voices.registry import unknown_voice

router = APIRouter()


@router.get("/api/voices")
async def list_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The voices that the caller may see: built-in ones first."""
    return {"voices": await visible_voices(request, gateway, is_admin(request, gateway))}


@router.get("/v1/audio/voices")
async def list_usable_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The voices that a request may name. OpenAI's clients ask for them without a key."""
    voices = await visible_voices(request, gateway, admin=False)
    return {"voices": [voice for voice in voices if voice["usable"]]}


@router.get("/api/voices/consent")
async def get_consent(language: Annotated[str, Query(max_length=16)] = "en") -> dict[str, str]:
    """What is agreed to whoever's voice it is; to be read aloud, or sent as `consent_statement`."""
    statement, language = consent.statement_in(language)
    return {"statement": statement, "language": language}


@router.post("/api/voices", status_code=201, dependencies=[MUTATION])
async def create_voice(request: Request, gateway: GatewayDep, key: KeyDep = None) -> dict[str, Any]:
    """A new voice from multipart/form-data: the file `audio`, `name`, and what else is known of it."""
    async with uploaded(request, gateway, "audio", gateway.settings.max_voice_bytes) as (file, fields, owner):
        asked = await asked_with(key, owner, fields, file)
        voice, checks = await add_voice(gateway, file, read_form(fields), owner, asked)
    described = await _described(gateway, voice, owner)
    return {**described, "checks": [check.to_dict() for check in checks]}


@router.post("/api/voices/checks", dependencies=[MUTATION])
async def check_recording(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """What is heard in the file `audio` of multipart/form-data, and what is wrong where. Nothing is kept."""
    async with uploaded(request, gateway, "audio", gateway.settings.max_voice_bytes) as (file, fields, _):
        checked = await gateway.voices.examine(file, read_check_form(fields).denoise)
    return {
        "usable": checked.refusal is None,
        "audio_seconds": round(checked.recording.seconds, 3),
        "sound_seconds": round(checked.sound_seconds, 3),
        "loudness_lufs": round(checked.loudness_lufs, 1),
        "checks": [check.to_dict() for check in checked.checks],
    }


@router.post("/api/voices/trial", response_class=Response, dependencies=[MUTATION])
async def try_voice(request: Request, gateway: GatewayDep) -> Response:
    """A sentence as wav, spoken with a recording that is kept nowhere: the form of a new voice, with consent.

    `name` may be left out; `sentence_language` is that of the sentence, where the model speaks it.
    """
    async with uploaded(request, gateway, "audio", gateway.settings.max_voice_bytes) as (file, fields, owner):
        form = read_trial_form(fields)
        voice, speaker = await gateway.voices.try_out(file, form, owner)
    return await _sample(trial(gateway, voice, speaker, form.sentence_language, request), request, gateway)


async def add_voice(
    gateway: Gateway, file: int, form: VoiceForm, owner: str, asked: Asked
) -> tuple[Voice, list[Check]]:
    """A new voice, of which operators hear. Raises ApiError: 409, 422, 503, 507."""
    checks: list[Check] | None = None

    async def make() -> Voice:
        nonlocal checks
        voice, checks = await gateway.voices.create(file, form, owner, asked=asked)
        gateway.operations.log.say("voice", voice.id, "voice_added", owner=owner, voice=voice.id)
        return voice

    voice = await made_once(gateway.database, Voice, asked, make)
    return voice, (await gateway.voices.examine(file, form.denoise)).checks if checks is None else checks


@router.get("/api/voices/{id}")
async def get_voice(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One voice; owners and administrators see its transcript and its consent too."""
    if is_built_in(gateway.pool, id):
        return next(voice for voice in built_in_voices(gateway.pool) if voice["id"] == id)
    viewer = _viewer(request, gateway, is_admin(request, gateway))
    voice = await gateway.voices.get(id, viewer.tenant, viewer.admin)
    show = describe_all if viewer.hears_recording(voice) else describe
    return show(gateway.pool, voice, await _adapters_of(gateway, [voice], viewer.tenant), viewer.tenant)


@router.patch("/api/voices/{id}", dependencies=[MUTATION])
async def change_voice(id: str, change: VoiceChange, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Change what is said of a voice; its audio stays. `consent_by: null` withdraws the consent."""
    before, tenant = await _own(id, request, gateway)
    voice = await gateway.voices.change(before, change)
    await learnt.agree(gateway, before, change, tenant)
    if "consent_by" in change.model_fields_set:
        saying = "consent_withdrawn" if change.consent_by is None else "consent_given"
        gateway.operations.log.say("voice", voice.id, saying, owner=tenant, voice=voice.id)
    return await _described(gateway, voice, tenant)


@router.delete("/api/voices/{id}", dependencies=[MUTATION])
async def delete_voice(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Delete a voice. Clips that are being spoken with it are finished."""
    await remove_voice(id, request, gateway)
    return {"id": id, "deleted": True}


async def remove_voice(id: str, request: Request, gateway: Gateway) -> None:
    """A voice of the caller's, with what a training learnt for it. Raises ApiError: 401, 403, 404, 503."""
    voice, tenant = await _own(id, request, gateway)
    await learnt.forget(gateway, voice, tenant)
    await gateway.voices.remove(id)
    gateway.operations.log.say("voice", id, "voice_deleted", owner=tenant, voice=id)


@router.get("/api/voices/{id}/preview", response_class=Response)
async def preview_voice(id: str, request: Request, gateway: GatewayDep) -> Response:
    """How a voice sounds: its recording to its owner and to administrators, a sentence of it to others."""
    answer = await _preview(id, request, gateway)
    if not is_same_origin(request.headers) and may_play(request.headers, gateway.settings.allowed_origins):
        answer.headers.update(FOR_ANY_PAGE)
    return answer


async def _preview(id: str, request: Request, gateway: Gateway) -> Response:
    if is_built_in(gateway.pool, id):
        return await _sample(built_in_sample(gateway, id, request), request, gateway)
    viewer = _viewer(request, gateway, is_admin(request, gateway))
    voice = await gateway.voices.get(id, viewer.tenant, viewer.admin)
    if not viewer.hears_recording(voice):
        return await _sample(custom_sample(gateway, voice, request), request, gateway)
    path = gateway.voices.store.path(voice.audio_sha256)
    if not await asyncio.to_thread(path.is_file):
        raise unknown_voice(id)
    return RangedFileResponse(path, media_type="audio/wav")


async def _sample(making: Coroutine[Any, Any, bytes], request: Request, gateway: Gateway) -> Response:
    try:
        clip = await while_connected(request, making)
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    return Response(clip, media_type="audio/wav", headers=note_headers(gateway.settings.provenance_note))


@dataclass(frozen=True)
class _Viewer:
    """Somebody who may use the service."""

    tenant: str | None
    """None: somebody who owns nothing."""
    admin: bool

    def hears_recording(self, voice: Voice) -> bool:
        """Whether the audio that a voice was made of is theirs to hear."""
        return self.admin or is_of(voice, self.tenant)


def _viewer(request: Request, gateway: Gateway, admin: bool) -> _Viewer:
    """Who asks. Raises ApiError 401 for who may not use the service and is no administrator."""
    if not admin:
        gateway.callers.identify(request)
    return _Viewer(tenant_or_none(request, gateway), admin)


async def visible_voices(request: Request, gateway: Gateway, admin: bool) -> list[dict[str, Any]]:
    """The voices that the caller may see; who may not use the service sees those of the models alone."""
    voices = built_in_voices(gateway.pool)
    try:
        viewer = _viewer(request, gateway, admin)
    except ApiError:
        return voices
    rows = await gateway.voices.visible_to(viewer.tenant, viewer.admin)
    adapters = await _adapters_of(gateway, rows, viewer.tenant)
    return voices + custom_voices(gateway.pool, rows, adapters, viewer.tenant, admin=viewer.admin)


async def _adapters_of(
    gateway: Gateway, voices: Iterable[Voice], tenant: str | None
) -> Mapping[str, Adapter]:
    return await gateway.adapters.named(filter(None, map(adapter_of, voices)), tenant)


async def _described(gateway: Gateway, voice: Voice, tenant: str) -> dict[str, Any]:
    """A voice as its owner sees it. Raises ApiError 503."""
    return describe_all(gateway.pool, voice, await _adapters_of(gateway, [voice], tenant), tenant)


async def _own(id: str, request: Request, gateway: Gateway) -> tuple[Voice, str]:
    """A voice that the caller may change, and who that is. Raises ApiError: 401, 403, 404."""
    tenant, admin = who_changes(request, gateway)
    if is_built_in(gateway.pool, id):
        raise ApiError(403, "built_in_voice", "this voice belongs to the model", param="id")
    voice = await gateway.voices.get(id, tenant, admin)
    if not admin and voice.owner != tenant:
        raise ApiError(403, "not_the_owner", "only its owner may change or delete a voice", param="id")
    return voice, tenant
