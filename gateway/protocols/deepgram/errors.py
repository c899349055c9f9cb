"""Errors as Deepgram's clients know them."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape

_PATHS = ("/v1/speak", "/v2/speak")


def shape(error: ApiError) -> dict[str, Any]:
    """The body of an answer; the request's id is in its headers."""
    return {"err_code": error.code.upper(), "err_msg": error.message}


def shape_of(scope: Scope) -> ErrorShape | None:
    """`shape` for a request that is one of Deepgram's."""
    return shape if scope["path"] in _PATHS else None
