"""`/api/sessions`: one's recordings to list, replay, comment, share, download and delete."""

from __future__ import annotations

import asyncio
import hmac
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from gateway.api.file_response import RangedFileResponse
from gateway.api.permissions import check_admin, owner_of, refuse_cross_site, require_admin
from gateway.api.word_files import check_form, words_response
from gateway.audio.note import note_headers
from gateway.database import Session
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.sessions import files
from gateway.sessions.archive import stream_zip
from gateway.sessions.listing import describe, page, parse_cursor
from gateway.sessions.recording_files import read_timeline
from gateway.sessions.wav import read_growing
from gateway.sessions.words import session_words

router = APIRouter(prefix="/api/sessions")

_MAX_KEY = 64
KeyQuery = Annotated[str | None, Query(max_length=_MAX_KEY)]


def _check_characters(text: str) -> str:
    """What neither JSON nor a database can hold."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("has a character that is none")
    return text


class SessionChange(BaseModel):
    """`PATCH`: what is left out stays."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: Annotated[str, Field(max_length=160), AfterValidator(_check_characters)] | None = None
    comment: Annotated[str, Field(max_length=2000), AfterValidator(_check_characters)] | None = None


Mutation = Depends(refuse_cross_site)


# -------------------------------------------------------------------------------------------- collections


@router.get("")
async def list_sessions(
    request: Request,
    gateway: GatewayDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=64)] = None,
    all: bool = False,
) -> dict[str, Any]:
    """One's own sessions, the newest first; with `all`, an administrator sees everybody's."""
    if all:
        check_admin(request, gateway)
    tenant = _tenant(request, gateway, needed=not all)
    cursor = parse_cursor(before) if before is not None else None
    rows = await gateway.recorder.index.list(None if all else tenant, limit, cursor)
    sessions, after = page(rows, lambda row: describe(row, tenant, may_share=True), limit, owners=all)
    return {"sessions": sessions, "next_before": after}


@router.get("/storage", dependencies=[Depends(require_admin)])
async def storage(gateway: GatewayDep) -> dict[str, Any]:
    """How many sessions there are, what they, voices and others take up, and what the limits are."""
    count, active, size_bytes = await gateway.recorder.index.totals()
    settings = gateway.settings
    voices_bytes, free_bytes = await asyncio.to_thread(
        lambda: (gateway.voices.store.size_bytes, gateway.disk.free_bytes)
    )
    return {
        "count": count,
        "active": active,
        "bytes": size_bytes,
        "largest_owner_bytes": await gateway.recorder.index.largest_owner_bytes(),
        "voices_bytes": voices_bytes,
        "free_bytes": free_bytes,
        "record_sessions": settings.record_sessions,
        "limits": {
            "max_storage_gb": settings.session_max_storage_gb or None,
            "max_owner_gb": settings.session_max_owner_gb or None,
            "min_free_disk_gb": settings.min_free_disk_gb or None,
            "retention_days": settings.session_retention_days or None,
        },
    }


# --------------------------------------------------------------------------------------------- one of them


@router.get("/{id}")
async def get_session(id: str, request: Request, gateway: GatewayDep, key: KeyQuery = None) -> Response:
    """What it is, and its timeline."""
    row, owned = await _look_at(id, request, gateway, key)
    session = describe(row, _tenant(request, gateway, needed=False), may_share=owned)
    body = await asyncio.to_thread(_session_body, _folder(gateway, row), session)
    return Response(body, media_type="application/json")


def _session_body(folder: Path, session: dict[str, Any]) -> bytes:
    meta = files.read_json(folder / files.META) or {}
    timeline = read_timeline(folder)
    facts = {
        "outcome": meta.get("outcome"),
        "reason": meta.get("reason"),
        "sample_rate": timeline["sample_rate"],
    }
    return json.dumps({"session": {**session, **facts}, "timeline": timeline}, ensure_ascii=False).encode()


@router.get("/{id}/audio", response_class=RangedFileResponse)
async def get_audio(id: str, request: Request, gateway: GatewayDep, key: KeyQuery = None) -> Response:
    """All utterances one after the other; ranges of bytes can be asked for."""
    row, _ = await _look_at(id, request, gateway, key)
    return await _wav(gateway, row, _folder(gateway, row) / files.MERGED, f"{row.id}.wav")


@router.get("/{id}/audio/{index}", response_class=RangedFileResponse)
async def get_utterance(
    id: str, index: int, request: Request, gateway: GatewayDep, key: KeyQuery = None
) -> Response:
    """One utterance."""
    row, _ = await _look_at(id, request, gateway, key)
    if not 0 <= index < max(row.utterances, 1):
        raise ApiError(404, "unknown_utterance", f"the session has no utterance {index}", param="index")
    path = files.utterance_file(_folder(gateway, row), index)
    return await _wav(gateway, row, path, f"{row.id}-{index}.wav")


@router.get("/{id}/download", response_class=StreamingResponse)
async def download(id: str, request: Request, gateway: GatewayDep, key: KeyQuery = None) -> Response:
    """Everything as a zip file."""
    row, _ = await _look_at(id, request, gateway, key)
    if row.state == "active":
        raise _is_active("downloaded")
    pieces = stream_zip(_folder(gateway, row), {"title": row.title, "comment": row.comment})
    headers = {"Content-Disposition": f'attachment; filename="{row.id}.zip"'}
    headers |= note_headers(gateway.settings.provenance_note)
    return StreamingResponse(pieces, media_type="application/zip", headers=headers)


@router.get("/{id}/words.{form}", response_class=StreamingResponse)
async def get_words(
    id: str, form: str, request: Request, gateway: GatewayDep, key: KeyQuery = None
) -> Response:
    """When its words were said: `words.srt`, `words.vtt` or `words.json`."""
    row, _ = await _look_at(id, request, gateway, key)
    check_form(form)
    if row.state == "active":
        raise _is_active("downloaded")
    found = await session_words(_folder(gateway, row), gateway.aligner)
    return await words_response(found, row.id, form, noted=gateway.settings.provenance_note)


# -------------------------------------------------------------------------------------------- its owner's


@router.patch("/{id}", dependencies=[Mutation])
async def change_session(
    id: str, change: SessionChange, request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Give it a title or a comment."""
    row = await _own(id, request, gateway)
    columns = change.model_dump(exclude_none=True)
    changed = await gateway.recorder.index.change(row.id, **columns)
    if changed is None:
        raise _unknown()
    return {"session": describe(changed, _tenant(request, gateway, needed=False), may_share=True)}


@router.post("/{id}/share", dependencies=[Mutation])
async def share_session(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """A key with which anybody can look at it; the same one until it is taken back."""
    row = await _own(id, request, gateway)
    shared = await gateway.recorder.index.share(row.id)
    if shared is None:
        raise _unknown()
    return {"share_key": shared.share_key, "url": f"/sessions/{shared.id}?key={shared.share_key}"}


@router.delete("/{id}/share", dependencies=[Mutation], status_code=204)
async def unshare_session(id: str, request: Request, gateway: GatewayDep) -> None:
    """Take the key back."""
    row = await _own(id, request, gateway)
    await gateway.recorder.index.change(row.id, share_key=None)


@router.delete("/{id}", dependencies=[Mutation], status_code=204)
async def delete_session(id: str, request: Request, gateway: GatewayDep) -> None:
    """Remove it with its files. One that is being recorded cannot be removed."""
    row = await _own(id, request, gateway)
    if not await gateway.recorder.index.remove(row.id):
        raise _is_active("deleted")
    await asyncio.to_thread(files.remove_folder, _folder(gateway, row))


# ------------------------------------------------------------------------------------------ who may what


async def _look_at(id: str, request: Request, gateway: Gateway, key: str | None) -> tuple[Session, bool]:
    """The session, and whether it may be changed too. Raises ApiError 404 for who may not see it."""
    row = await _find(id, gateway)
    owned = row is not None and _owns(row, request, gateway)
    if row is None or not (owned or _opens(row, key)):
        _tenant(request, gateway, needed=True)
        raise _unknown()
    await gateway.recorder.index.touch(row)
    return row, owned


async def _own(id: str, request: Request, gateway: Gateway) -> Session:
    row = await _find(id, gateway)
    if row is None or not _owns(row, request, gateway):
        _tenant(request, gateway, needed=True)
        raise _unknown()
    return row


async def _find(id: str, gateway: Gateway) -> Session | None:
    if not files.is_session_id(id):
        return None
    await gateway.recorder.settled(id)
    return await gateway.recorder.index.get(id)


def _owns(row: Session, request: Request, gateway: Gateway) -> bool:
    if _tenant(request, gateway, needed=False) == row.owner:
        return True
    try:
        check_admin(request, gateway)
    except ApiError:
        return False
    return True


def _opens(row: Session, key: str | None) -> bool:
    return bool(key and row.share_key) and hmac.compare_digest(key.encode(), row.share_key.encode())


def _tenant(request: Request, gateway: Gateway, *, needed: bool) -> str | None:
    """Who asks. Raises ApiError for nobody known, when that is `needed`."""
    try:
        return owner_of(request, gateway)
    except ApiError:
        if needed:
            raise
        return None


# -------------------------------------------------------------------------------------------- what it shows


def _folder(gateway: Gateway, row: Session) -> Path:
    return files.session_folder(gateway.recorder.folder, row.id)


async def _wav(gateway: Gateway, row: Session, path: Path, name: str) -> Response:
    """A file that may grow meanwhile is sent as far as it is now, and only as a whole."""
    headers = {"Content-Disposition": f'inline; filename="{name}"'}
    headers |= note_headers(gateway.settings.provenance_note)
    try:
        size_bytes, pieces = await asyncio.to_thread(read_growing, path)
    except FileNotFoundError:
        raise ApiError(404, "no_audio", "there is no audio") from None
    if row.state == "active":
        headers |= {"Content-Length": str(size_bytes)}
        return StreamingResponse(pieces, media_type="audio/wav", headers=headers)
    return RangedFileResponse(path, media_type="audio/wav", headers=headers)


def _unknown() -> ApiError:
    return ApiError(404, "unknown_session", "there is no such session", param="id")


def _is_active(done: str) -> ApiError:
    return ApiError(409, "session_active", f"a session that is being recorded cannot be {done}")
