"""Errors as Fish Audio's clients read them."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape

_PATHS = ("/v1/tts", "/v1/tts/live")


def shape(error: ApiError) -> dict[str, Any]:
    """The body of an answer."""
    return {"status": error.status_code, "message": error.message}


def shape_of(scope: Scope) -> ErrorShape | None:
    """`shape` for a request that is one of Fish Audio's."""
    return shape if scope["path"] in _PATHS else None
