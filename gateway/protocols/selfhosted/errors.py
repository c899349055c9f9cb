"""Errors as clients of Kokoro-FastAPI and of Piper read them."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape

_PREFIXES = ("/dev/captioned_speech", "/piper")


def shape(error: ApiError) -> dict[str, Any]:
    """As FastAPI's, with what is wrong in an object."""
    return {"detail": {"error": error.code, "message": error.message, "type": error.type}}


def shape_of(scope: Scope) -> ErrorShape | None:
    """`shape` for a request that is one of theirs."""
    return shape if scope["path"].startswith(_PREFIXES) else None
