"""Voices of one's own, in OpenAI's form: first a spoken consent, then a voice that is made under it.

POST /v1/audio/voice_consents  name, language, recording   ->  {"id": "cons_...", ...}
POST /v1/audio/voices          name, consent, audio_sample ->  {"id": "v_...", ...}
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from gateway.api.permissions import MUTATION, owner_of
from gateway.api.transfer.repeats import KeyDep, asked_with
from gateway.api.transfer.upload import uploaded
from gateway.api.voices.voices import add_voice, remove_voice
from gateway.database import VoiceConsent
from gateway.database.repeats import made_once
from gateway.errors import ApiError
from gateway.service import GatewayDep
from gateway.voices.fields import VoiceForm, VoiceName, read_consent_form, read_form
from gateway.voices.recorded_consents import statement

router = APIRouter()

_VOICES = "/v1/audio/voices"
_CONSENTS = "/v1/audio/voice_consents"
_VOICE_FIELDS = frozenset(("name", "consent", "type"))
_MORE_FIELDS = {"ref_text": "transcript", "speaker_description": "description"}
"""vLLM-Omni's, and what they are called here."""


class ConsentChange(BaseModel):
    """What may be changed of a consent."""

    name: VoiceName


@router.post(_VOICES, dependencies=[MUTATION])
async def create_voice(request: Request, gateway: GatewayDep, key: KeyDep = None) -> dict[str, Any]:
    """A voice from a sample of it."""
    async with uploaded(request, gateway, "audio_sample", gateway.settings.max_voice_bytes) as (
        file,
        fields,
        owner,
    ):
        if unknown := fields.keys() - _VOICE_FIELDS - _MORE_FIELDS.keys():
            name = min(unknown)[:64]
            raise ApiError(422, "unknown_field", f"unknown field: {name}", param=name)
        if fields.get("type", "audio_sample") != "audio_sample":
            message = "type: voices are made of samples here, type must be audio_sample"
            raise ApiError(422, "invalid_value", message, param="type")
        agreed = await gateway.voices.consents.get(fields.get("consent", ""), owner)
        said = {"name": fields.get("name", ""), "language": agreed.language}
        said |= {ours: fields[theirs] for theirs, ours in _MORE_FIELDS.items() if theirs in fields}
        form: VoiceForm = read_form(
            said | {"consent_by": agreed.name, "consent_statement": statement(agreed)}
        )
        asked = await asked_with(key, owner, fields, file)
        voice, _ = await add_voice(gateway, file, form, owner, asked)
    created_at = int(voice.created_at.timestamp())
    facts = {"id": voice.id, "name": voice.name, "created_at": created_at}
    return {"object": "audio.voice", "type": "audio_sample", **facts}


@router.delete(_VOICES + "/{id}", dependencies=[MUTATION])
async def delete_voice(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One's own."""
    await remove_voice(id, request, gateway)
    return {"object": "audio.voice.deleted", "id": id, "deleted": True}


@router.post(_CONSENTS, dependencies=[MUTATION])
async def create_consent(request: Request, gateway: GatewayDep, key: KeyDep = None) -> dict[str, Any]:
    """Keep a recording in which somebody reads what `GET /api/voices/consent` says."""
    async with uploaded(request, gateway, "recording", gateway.settings.max_voice_bytes) as (
        file,
        fields,
        owner,
    ):
        form = read_consent_form(fields)
        asked = await asked_with(key, owner, fields, file)

        async def keep() -> VoiceConsent:
            row = await gateway.voices.record_consent(file, form, owner, asked)
            gateway.operations.log.say("voice", row.id, "consent_sent", owner=owner, consent=row.id)
            return row

        return _describe(await made_once(gateway.database, VoiceConsent, asked, keep))


@router.get(_CONSENTS)
async def list_consents(
    request: Request,
    gateway: GatewayDep,
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> dict[str, Any]:
    """One's own, the newest first."""
    rows = [_describe(row) for row in await gateway.voices.consents.list(owner_of(request, gateway))]
    start = next((place + 1 for place, row in enumerate(rows) if row["id"] == after), 0)
    page = rows[start : start + limit]
    ends = (
        {"first_id": page[0]["id"], "last_id": page[-1]["id"]}
        if page
        else {"first_id": None, "last_id": None}
    )
    return {"object": "list", "data": page, **ends, "has_more": start + limit < len(rows)}


@router.get(_CONSENTS + "/{id}")
async def get_consent(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One of one's own."""
    return _describe(await gateway.voices.consents.get(id, owner_of(request, gateway)))


@router.post(_CONSENTS + "/{id}", dependencies=[MUTATION])
async def rename_consent(
    id: str, change: ConsentChange, request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Change its name."""
    return _describe(await gateway.voices.consents.rename(id, owner_of(request, gateway), change.name))


@router.delete(_CONSENTS + "/{id}", dependencies=[MUTATION])
async def delete_consent(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Delete the recording; voices that were made under it stay."""
    await gateway.voices.consents.remove(id, owner_of(request, gateway))
    return {"object": "audio.voice_consent", "id": id, "deleted": True}


def _describe(row: VoiceConsent) -> dict[str, Any]:
    facts = {"id": row.id, "name": row.name, "language": row.language}
    return {"object": "audio.voice_consent", **facts, "created_at": int(row.created_at.timestamp())}
