"""Who may see a session and who may change it, and what is said to the others."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import Query, Request

from gateway.api.permissions import check_admin, owner_of
from gateway.database import Session
from gateway.errors import ApiError
from gateway.service import Gateway
from gateway.sessions.storage import files
from gateway.sessions.storage.shape import DamagedSession

_MAX_KEY = 64
KeyQuery = Annotated[str | None, Query(max_length=_MAX_KEY)]


async def look_at(id: str, request: Request, gateway: Gateway, key: str | None) -> tuple[Session, bool]:
    """The session, and whether it may be changed too. Raises ApiError 404 for who may not see it."""
    row = await _find(id, gateway)
    owned = row is not None and _owns(row, request, gateway)
    if row is None or not (owned or _opens(row, key)):
        tenant_of(request, gateway, needed=True)
        raise unknown_session()
    await gateway.recorder.index.touch(row)
    return row, owned


async def own(id: str, request: Request, gateway: Gateway) -> Session:
    """A session that the caller may change. Raises ApiError 404 for any other."""
    row = await _find(id, gateway)
    if row is None or not _owns(row, request, gateway):
        tenant_of(request, gateway, needed=True)
        raise unknown_session()
    return row


async def _find(id: str, gateway: Gateway) -> Session | None:
    if not files.is_session_id(id):
        return None
    await gateway.recorder.settled(id)
    return await gateway.recorder.index.get(id)


def _owns(row: Session, request: Request, gateway: Gateway) -> bool:
    if tenant_of(request, gateway, needed=False) == row.owner:
        return True
    try:
        check_admin(request, gateway)
    except ApiError:
        return False
    return True


def _opens(row: Session, key: str | None) -> bool:
    return bool(key and row.share_key) and hmac.compare_digest(key.encode(), row.share_key.encode())


def tenant_of(request: Request, gateway: Gateway, *, needed: bool) -> str | None:
    """Who asks. Raises ApiError for nobody known, when that is `needed`."""
    try:
        return owner_of(request, gateway)
    except ApiError:
        if needed:
            raise
        return None


def folder_of(gateway: Gateway, row: Session) -> Path:
    """The folder with the files of a session."""
    return files.session_folder(gateway.recorder.folder, row.id)


def unknown_session() -> ApiError:
    """For what is not there, and for whom it is not."""
    return ApiError(404, "unknown_session", "there is no such session", param="id")


def session_active(done: str) -> ApiError:
    """For what has to wait for the end of the session."""
    return ApiError(409, "session_active", f"a session that is being recorded cannot be {done}")


@contextlib.contextmanager
def damage_told() -> Iterator[None]:
    """Raises ApiError for a session whose files cannot be read as they are."""
    try:
        yield
    except DamagedSession:
        message = "the files of this session are damaged; a download has its audio"
        raise ApiError(409, "session_damaged", message, param="id") from None
