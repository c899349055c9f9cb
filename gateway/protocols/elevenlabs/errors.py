"""Errors as ElevenLabs' clients read them."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape

_PREFIXES = ("/v1/text-to-speech/", "/v1/text-to-dialogue", "/v1/voices", "/v2/voices", "/v1/user")


_FIELDS = {"adapter": "model_id", "model": "model_id", "voice": "voice_id"}
"""Ours, and what their clients call it."""


def shape(error: ApiError) -> dict[str, Any]:
    """A list of fields for wrong ones, else one object."""
    if error.status_code == 422:
        place = ["body", _field(error)] if error.param else ["body"]
        return {"detail": [{"loc": place, "msg": error.message, "type": error.code}]}
    detail = {"type": error.type, "code": error.code, "status": error.code, "message": error.message}
    return {"detail": {**detail, "param": _field(error)}}


def _field(error: ApiError) -> str | None:
    return _FIELDS.get(error.param, error.param) if error.param else None


def shape_of(scope: Scope) -> ErrorShape | None:
    """`shape` for a request that is one of ElevenLabs'."""
    return shape if scope["path"].startswith(_PREFIXES) else None


def message(error: ApiError, context_id: str | None = None) -> dict[str, Any]:
    """An error over a socket, which is closed with the code that stands in it unless a context is named."""
    said = {"message": error.message, "error": error.code, "code": error.close_code, "param": _field(error)}
    return {**said, "contextId": context_id}
