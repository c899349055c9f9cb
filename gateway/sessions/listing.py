"""Sessions as the API lists them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gateway.database import Job, Session
from gateway.errors import ApiError
from gateway.sessions import files

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def describe(row: Session, tenant: str | None, *, may_share: bool) -> dict[str, Any]:
    """As JSON, for `tenant`; the key only for who may share it."""
    return {
        "id": row.id,
        "kind": row.kind,
        "title": row.title,
        "comment": row.comment,
        "state": row.state,
        "created_at": row.created_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
        "used_at": row.used_at.isoformat(),
        "utterances": row.utterances,
        "audio_seconds": round(row.audio_seconds, 3),
        "size_bytes": row.size_bytes,
        "voice": row.voice,
        "owner_is_me": row.owner == tenant,
        "shared": row.share_key is not None,
        "share_key": row.share_key if may_share else None,
    }


def cursor_of(row: Session | Job) -> str:
    """What asks for those after this one."""
    microseconds = (row.created_at - _EPOCH) // (datetime.resolution)
    return f"{microseconds}.{row.id}"


def parse_cursor(text: str, is_id: Callable[[str], bool] = files.is_session_id) -> tuple[datetime, str]:
    """created_at and id of what `cursor_of` was asked about. Raises ApiError."""
    microseconds, _, session_id = text.partition(".")
    problem = ApiError(422, "invalid_value", "before: not a value of next_before", param="before")
    if not is_id(session_id):
        raise problem
    try:
        return _EPOCH + int(microseconds) * datetime.resolution, session_id
    except (ValueError, OverflowError):
        raise problem from None
