"""Errors as clients of other servers read them."""

from __future__ import annotations

from typing import Any

from starlette.types import Scope

from gateway.errors import ApiError, ErrorShape


def shape(error: ApiError) -> dict[str, Any]:
    """As FastAPI's, with what is wrong in an object: of Kokoro-FastAPI and Piper."""
    return {"detail": {"error": error.code, "message": error.message, "type": error.type}}


def _in_a_sentence(error: ApiError) -> dict[str, Any]:
    """As FastAPI's, of xtts-api-server."""
    return {"detail": error.message}


def _plain(error: ApiError) -> dict[str, Any]:
    """Of Coqui's server, which speaks MaryTTS's protocol, too."""
    return {"error": error.message}


_SHAPES: dict[str, ErrorShape] = {
    "/dev/captioned_speech": shape,
    "/piper": shape,
    "/xtts": _in_a_sentence,
    "/api/tts": _plain,
    "/process": _plain,
    "/marytts": _plain,
}
"""By path, and for all below it."""


def shape_of(scope: Scope) -> ErrorShape | None:
    """The shape for a request that is one of theirs."""
    path: str = scope["path"]
    found = (each for start, each in _SHAPES.items() if path == start or path.startswith(f"{start}/"))
    return next(found, None)
