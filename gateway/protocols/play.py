"""`GET /tts?text=...`: a clip for players that are given an address.

A browser loads such an address for a page without asking the page's rights first, so one of another site is
refused unless it stands in `allowed_origins`. Such pages, and everybody else, may use links (`links.py`).
"""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from gateway.audio.formats import content_type_of
from gateway.callers.identity import Caller
from gateway.callers.origin import FOR_ANY_PAGE, may_play
from gateway.errors import ApiError, from_validation
from gateway.protocols.clip import whole_clip
from gateway.protocols.response import SpeechResponse
from gateway.requests import NATIVE, ClipRequest, TtsRequest
from gateway.service import Gateway, GatewayDep

router = APIRouter()


async def _refuse_foreign_pages(request: Request, gateway: GatewayDep) -> None:
    if not may_play(request.headers, gateway.settings.allowed_origins):
        raise ApiError(403, "cross_site", "another site's page may not do this without a link")


FOR_PLAYERS = Depends(_refuse_foreign_pages)
"""Among the dependencies of a route that browsers ask without asking for permission first. Raises ApiError
403 for a page of another site.
"""


@router.get("/tts", response_class=Response, dependencies=[FOR_PLAYERS])
@router.head("/tts", dependencies=[FOR_PLAYERS], include_in_schema=False)
async def play_clip(request: Request, gateway: GatewayDep) -> Response:
    """The fields of `POST /tts` as a query; mp3 that comes while it is generated where it says nothing."""
    order = _order(request)
    return await play(request, gateway, order, gateway.callers.identify(request))


async def play(request: Request, gateway: Gateway, order: ClipRequest, caller: Caller) -> Response:
    """The clip as `caller`'s, for a player on any page; nothing is spoken for a HEAD."""
    check_playable(order)
    if request.method == "HEAD":
        return head_of(order)
    if order.stream:
        return SpeechResponse(request, gateway, order, NATIVE, FOR_ANY_PAGE, caller=caller)
    return await whole_clip(request, gateway, order, NATIVE, FOR_ANY_PAGE, caller=caller)


def head_of(order: TtsRequest) -> Response:
    """What a player learns of a clip for which nothing is spoken."""
    head = Response(headers={"Content-Type": content_type_of(order.format, order.sample_rate or 0)})
    del head.headers["Content-Length"]  # a player would take 0 for the length of the clip
    return head


def check_playable(order: ClipRequest) -> None:
    """Raise ApiError 422 for what no player's address gives."""
    if order.timestamps != "none":
        message = "timestamps: a player's address gives the file alone; use POST /tts"
        raise ApiError(422, "invalid_value", message, param="timestamps")


def _order(request: Request) -> ClipRequest:
    """Raises ApiError, also for a field that is given twice."""
    given = request.query_params
    for name in given:
        if len(given.getlist(name)) > 1:
            raise ApiError(422, "invalid_value", f"{name[:64]}: give it once", param=name[:64])
    try:
        return ClipRequest.model_validate({"format": "mp3", "stream": True, **given}, strict=False)
    except ValidationError as error:
        raise from_validation(error.errors()) from error
