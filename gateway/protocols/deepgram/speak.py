"""`POST /v1/speak`, or `/v2/speak`: a text becomes a clip that comes while it is generated.

The body is `{"text"}`, or the text itself as text/plain. A browser sends the latter for any page without
asking for permission first, so pages of other sites are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from gateway.api.permissions import MUTATION
from gateway.errors import ApiError, from_request
from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.deepgram.request import DEEPGRAM, as_bad_request, read_query
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.kinds import OfKinds
from gateway.protocols.response import SpeechResponse
from gateway.requests import Text, check_limits
from gateway.service import Gateway, GatewayDep


class _BadRequests(APIRoute):
    """A route to which a wrong body is a bad request, as it is to Deepgram."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Raises ApiError 400."""
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                raise as_bad_request(from_request(error)) from error

        return checked


class _PlainTexts(OfKinds):
    kinds = ("text/plain",)


router = APIRouter(route_class=_BadRequests)
_plain = APIRouter(route_class=_PlainTexts, dependencies=[MUTATION], include_in_schema=False)


class SpeakBody(BaseModel):
    """What to say."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: Text


@_plain.post("/v1/speak")
@_plain.post("/v2/speak")
async def speak_plain_text(request: Request, gateway: GatewayDep) -> Response:
    """The same of a text without anything around it."""
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise ApiError(400, "invalid_body", "the text is not UTF-8") from error
    return await _speak(text, request, gateway)


router.include_router(_plain)


@router.post("/v1/speak", response_class=Response)
@router.post("/v2/speak", response_class=Response)
async def speak(body: SpeakBody, request: Request, gateway: GatewayDep) -> Response:
    """The audio, in the encoding and the container that the query names."""
    return await _speak(body.text, request, gateway, body.model_extra)


async def _speak(text: str, request: Request, gateway: Gateway, unknown: Iterable[str] = ()) -> Response:
    query = await read_query(request.query_params, gateway)
    controls = Controls()
    order = query.to_tts_request(text, controls)
    check_limits(order, gateway.settings)
    facts = {
        "dg-request-id": request.state.request_id,
        "dg-char-count": str(controls.characters),
        "dg-pronunciations-applied": "0",
        "dg-breaks-applied": str(controls.pauses),
    }
    ignored = ignored_fields([*query.model_extra, *unknown])
    return SpeechResponse(request, gateway, order, DEEPGRAM, facts | ignored)
