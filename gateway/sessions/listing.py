"""Sessions as the API lists them, and what lists that are told in pages have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from gateway.database import Book, Job, Session
from gateway.database.pages import Place
from gateway.errors import ApiError
from gateway.sessions.storage import files

Row = TypeVar("Row", Session, Job, Book)

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
        "seed": row.seed,
        "owner_is_me": row.owner == tenant,
        "shared": row.share_key is not None,
        "share_key": row.share_key if may_share else None,
    }


def page(
    rows: Sequence[Row], described: Callable[[Row], dict[str, Any]], limit: int, *, owners: bool
) -> tuple[list[dict[str, Any]], str | None]:
    """At most `limit` rows as JSON, with `owners` each with its owner; and the cursor of the next page."""
    items = [described(row) | ({"owner": row.owner} if owners else {}) for row in rows]
    return items, _cursor_of(rows[-1]) if len(rows) == limit else None


def _cursor_of(row: Session | Job | Book) -> str:
    """What asks for those after this one."""
    microseconds = (row.created_at - _EPOCH) // (datetime.resolution)
    return f"{microseconds}.{row.id}"


def parse_cursor(text: str, is_id: Callable[[str], bool] = files.is_session_id) -> Place:
    """What a cursor follows. Raises ApiError."""
    microseconds, _, session_id = text.partition(".")
    problem = ApiError(422, "invalid_value", "before: not a value of next_before", param="before")
    if not is_id(session_id):
        raise problem
    try:
        return _EPOCH + int(microseconds) * datetime.resolution, session_id
    except (ValueError, OverflowError):
        raise problem from None
