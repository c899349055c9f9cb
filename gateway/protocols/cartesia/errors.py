"""Errors as Cartesia's clients know them."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers
from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape

VERSION_HEADER = "cartesia-version"
"""Which every request of its SDKs has."""
_PATHS = ("/tts/bytes", "/tts/sse", "/tts/websocket")


def shape(error: ApiError) -> dict[str, Any]:
    """The body of an answer; the request's id is in its headers."""
    title = error.code.replace("_", " ").capitalize()
    return {
        "error_code": error.code,
        "title": title,
        "message": error.message,
        "status_code": error.status_code,
    }


def shape_of(scope: Scope) -> ErrorShape | None:
    """`shape` for a request that is one of Cartesia's."""
    return shape if scope["path"] in _PATHS or VERSION_HEADER in Headers(scope=scope) else None


def message(error: ApiError, request_id: str, context_id: str | None = None) -> dict[str, Any]:
    """An error within a stream, which ends what it is about. `error`: for clients of older versions."""
    facts = {"error": error.message, "done": True, "request_id": request_id}
    said = {"type": "error", **shape(error), **facts}
    return said if context_id is None else {**said, "context_id": context_id}
