"""`/api/sessions`: one's recordings to list, search, comment, share and delete. Files: `files.py`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import AfterValidator, Field

from gateway.api.permissions import MUTATION, check_admin, require_admin
from gateway.api.sessions.access import (
    KeyQuery,
    damage_told,
    folder_of,
    look_at,
    own,
    session_active,
    tenant_of,
    unknown_session,
)
from gateway.bodies import Body
from gateway.service import GatewayDep
from gateway.sessions.listing import describe, page, parse_cursor
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import read_timeline

router = APIRouter(prefix="/api/sessions")

_MAX_SEARCH = 200


def _check_characters(text: str) -> str:
    """What neither JSON nor a database can hold."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds a NUL character, or half of a surrogate pair")
    return text


class SessionChange(Body):
    """`PATCH`: what is left out stays, null empties."""

    title: Annotated[str, Field(max_length=160), AfterValidator(_check_characters)] | None = None
    comment: Annotated[str, Field(max_length=2000), AfterValidator(_check_characters)] | None = None


# -------------------------------------------------------------------------------------------- collections


@router.get("")
async def list_sessions(
    request: Request,
    gateway: GatewayDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=64)] = None,
    search: Annotated[str, Query(max_length=_MAX_SEARCH)] = "",
    all: bool = False,
) -> dict[str, Any]:
    """One's own sessions, the newest first; with `all`, an administrator sees everybody's.

    `search`: those with all of its words in what was said, title, comment or voice.
    """
    if all:
        check_admin(request, gateway)
    tenant = tenant_of(request, gateway, needed=not all)
    cursor = parse_cursor(before) if before is not None else None
    owner = None if all else tenant
    await gateway.recorder.all_settled(owner)
    rows = await gateway.recorder.index.list(owner, limit, cursor, search)
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
    row, owned = await look_at(id, request, gateway, key)
    session = describe(row, tenant_of(request, gateway, needed=False), may_share=owned)
    with damage_told():
        body = await asyncio.to_thread(_session_body, folder_of(gateway, row), session)
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


# -------------------------------------------------------------------------------------------- its owner's


@router.patch("/{id}", dependencies=[MUTATION])
async def change_session(
    id: str, change: SessionChange, request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Give it a title or a comment."""
    row = await own(id, request, gateway)
    columns = {name: value or "" for name, value in change.model_dump(exclude_unset=True).items()}
    changed = await gateway.recorder.index.change(row.id, **columns)
    if changed is None:
        raise unknown_session()
    return {"session": describe(changed, tenant_of(request, gateway, needed=False), may_share=True)}


@router.post("/{id}/share", dependencies=[MUTATION])
async def share_session(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """A key with which anybody can look at it; the same one until it is taken back."""
    row = await own(id, request, gateway)
    shared = await gateway.recorder.index.share(row.id)
    if shared is None:
        raise unknown_session()
    return {"share_key": shared.share_key, "url": f"/sessions/{shared.id}?key={shared.share_key}"}


@router.delete("/{id}/share", dependencies=[MUTATION], status_code=204)
async def unshare_session(id: str, request: Request, gateway: GatewayDep) -> None:
    """Take the key back."""
    row = await own(id, request, gateway)
    await gateway.recorder.index.change(row.id, share_key=None)


@router.delete("/{id}", dependencies=[MUTATION], status_code=204)
async def delete_session(id: str, request: Request, gateway: GatewayDep) -> None:
    """Remove it with its files. One that is being recorded cannot be removed."""
    row = await own(id, request, gateway)
    if not await gateway.recorder.index.remove(row.id):
        raise session_active("deleted")
    await asyncio.to_thread(files.remove_folder, folder_of(gateway, row))
