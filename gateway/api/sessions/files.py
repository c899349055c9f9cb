"""The files of sessions: audio to hear, zip files of one or several, times of words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.responses import StreamingResponse

from gateway.api.permissions import MUTATION
from gateway.api.sessions.access import KeyQuery, damage_told, folder_of, look_at, own, session_active
from gateway.api.transfer.file_response import RangedFileResponse, disposition
from gateway.api.transfer.word_files import check_form, words_response
from gateway.audio.note import note_headers
from gateway.bodies import Body
from gateway.database import Session
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.sessions.archive import Part, stream_zip, with_folders
from gateway.sessions.file_names import stem_of
from gateway.sessions.storage import files
from gateway.sessions.storage.wav import read_growing
from gateway.sessions.words import session_words

router = APIRouter(prefix="/api/sessions")

MAX_SESSIONS = 100


class SessionIds(Body):
    """The body of requests about several sessions."""

    ids: Annotated[list[Annotated[str, Field(max_length=64)]], Field(min_length=1, max_length=MAX_SESSIONS)]


@router.post("/download", response_class=StreamingResponse, dependencies=[MUTATION])
async def download_several(wanted: SessionIds, request: Request, gateway: GatewayDep) -> Response:
    """Several of one's own as one zip file, a folder each."""
    rows = [await own(id, request, gateway) for id in dict.fromkeys(wanted.ids)]
    if any(row.state == "active" for row in rows):
        raise session_active("downloaded")
    for row in rows:
        await gateway.recorder.index.touch(row)
    return _zip(stream_zip(with_folders(_part(gateway, row) for row in rows)), "sessions", gateway)


@router.get("/{id}/audio", response_class=RangedFileResponse)
async def get_audio(id: str, request: Request, gateway: GatewayDep, key: KeyQuery = None) -> Response:
    """All utterances one after the other; ranges of bytes can be asked for."""
    row, _ = await look_at(id, request, gateway, key)
    return await _wav(gateway, row, folder_of(gateway, row) / files.MERGED, "wav")


@router.get("/{id}/audio/{index}", response_class=RangedFileResponse)
async def get_utterance(
    id: str, index: int, request: Request, gateway: GatewayDep, key: KeyQuery = None
) -> Response:
    """One utterance."""
    row, _ = await look_at(id, request, gateway, key)
    if not 0 <= index < max(row.utterances, 1):
        raise ApiError(404, "unknown_utterance", f"the session has no utterance {index}", param="index")
    path = files.utterance_file(folder_of(gateway, row), index)
    return await _wav(gateway, row, path, f"{index + 1}.wav")


@router.get("/{id}/download", response_class=StreamingResponse)
async def download(id: str, request: Request, gateway: GatewayDep, key: KeyQuery = None) -> Response:
    """Everything as a zip file."""
    row, _ = await look_at(id, request, gateway, key)
    if row.state == "active":
        raise session_active("downloaded")
    return _zip(stream_zip([_part(gateway, row)]), stem_of(row), gateway)


@router.get("/{id}/words.{form}", response_class=StreamingResponse)
async def get_words(
    id: str, form: str, request: Request, gateway: GatewayDep, key: KeyQuery = None
) -> Response:
    """When its words were said: `words.srt`, `words.vtt` or `words.json`."""
    row, _ = await look_at(id, request, gateway, key)
    check_form(form)
    if row.state == "active":
        raise session_active("downloaded")
    with damage_told():
        found = await session_words(folder_of(gateway, row), gateway.aligner)
    return await words_response(found, stem_of(row), form, noted=gateway.settings.provenance_note)


def _part(gateway: Gateway, row: Session) -> Part:
    return Part(folder_of(gateway, row), {"title": row.title, "comment": row.comment}, stem_of(row))


def _zip(pieces: Iterator[bytes], stem: str, gateway: Gateway) -> Response:
    headers = {"Content-Disposition": disposition(f"{stem}.zip")}
    headers |= note_headers(gateway.settings.provenance_note)
    return StreamingResponse(pieces, media_type="application/zip", headers=headers)


async def _wav(gateway: Gateway, row: Session, path: Path, suffix: str) -> Response:
    """A file that may grow meanwhile is sent as far as it is now, and only as a whole."""
    headers = {"Content-Disposition": disposition(f"{stem_of(row)}.{suffix}", inline=True)}
    headers |= note_headers(gateway.settings.provenance_note)
    try:
        size_bytes, pieces = await asyncio.to_thread(read_growing, path)
    except FileNotFoundError:
        raise ApiError(404, "no_audio", "there is no audio") from None
    if row.state == "active":
        headers |= {"Content-Length": str(size_bytes)}
        return StreamingResponse(pieces, media_type="audio/wav", headers=headers)
    return RangedFileResponse(path, media_type="audio/wav", headers=headers)
