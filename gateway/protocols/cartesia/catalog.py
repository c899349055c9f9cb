"""Voices as Cartesia's clients ask for them. `/` is a page too: a header tells who asks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope

from gateway.api.voices.voices import visible_voices
from gateway.errors import ApiError
from gateway.protocols.cartesia.errors import VERSION_HEADER
from gateway.service import Gateway, GatewayDep
from telemetry.build import VERSION


class _ForItsClients(APIRoute):
    """A route that nobody but Cartesia's clients finds."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """NONE for a request without their header."""
        if scope["type"] != "http" or VERSION_HEADER not in Headers(scope=scope):
            return Match.NONE, {}
        return super().matches(scope)


router = APIRouter(route_class=_ForItsClients, include_in_schema=False)

_UNKNOWN_TIME = "1970-01-01T00:00:00Z"
"""When a model's own voice was made, which nobody knows here."""
_ANY_LANGUAGE = "en"
"""The language of a voice that has none: clients take the field for granted."""


@router.get("/")
async def status() -> dict[str, Any]:
    """That the service is there."""
    return {"ok": True, "version": VERSION}


@router.get("/voices")
async def list_voices(
    request: Request,
    gateway: GatewayDep,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    starting_after: str | None = None,
    ending_before: str | None = None,
    q: str = "",
    is_owner: bool | None = None,
) -> dict[str, Any]:
    """The voices that the caller may name, page by page."""
    voices = [voice for voice in await _voices(request, gateway) if _matches(voice, q, is_owner)]
    if ending_before:
        before = voices[: _place(voices, ending_before, 0)]
        return {"data": before[-limit:], "has_more": len(before) > limit}
    after = voices[_place(voices, starting_after, len(voices)) + 1 :] if starting_after else voices
    return {"data": after[:limit], "has_more": len(after) > limit}


@router.get("/voices/{id}")
async def get_voice(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One of them."""
    for voice in await _voices(request, gateway):
        if voice["id"] == id:
            return voice
    raise ApiError(404, "voice_not_found", "there is no such voice", param="id")


async def _voices(request: Request, gateway: Gateway) -> list[dict[str, Any]]:
    return [
        _describe(voice) for voice in await visible_voices(request, gateway, admin=False) if voice["usable"]
    ]


def _describe(voice: dict[str, Any]) -> dict[str, Any]:
    language = voice["language"] or _ANY_LANGUAGE
    return {
        "id": voice["id"],
        "name": voice["name"],
        "description": voice["description"],
        "tagline": "",
        "language": language,
        "locales": [{"locale": language, "is_native": True}],
        "is_owner": voice["owner_is_me"],
        "is_public": not voice["owner_is_me"],
        "access": "private" if voice["owner_is_me"] else "public",
        "visibility": "all",
        "created_at": voice.get("created_at", _UNKNOWN_TIME),
    }


def _matches(voice: dict[str, Any], q: str, is_owner: bool | None) -> bool:
    words = f"{voice['name']} {voice['description']} {voice['id']}".casefold()
    return q.casefold() in words and is_owner in (None, voice["is_owner"])


def _place(voices: list[dict[str, Any]], id: str, otherwise: int) -> int:
    return next((place for place, voice in enumerate(voices) if voice["id"] == id), otherwise)
