"""`POST /v1/speak`, or `/v2/speak`: a text becomes a clip that comes while it is generated."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from gateway.errors import from_request
from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.deepgram.request import DEEPGRAM, as_bad_request, read_query
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.response import SpeechResponse
from gateway.requests import Text, check_limits
from gateway.service import GatewayDep


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


router = APIRouter(route_class=_BadRequests)


class SpeakBody(BaseModel):
    """What to say."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: Text


@router.post("/v1/speak", response_class=Response)
@router.post("/v2/speak", response_class=Response)
async def speak(body: SpeakBody, request: Request, gateway: GatewayDep) -> Response:
    """The audio, in the encoding and the container that the query names."""
    query = await read_query(request.query_params, gateway)
    controls = Controls()
    order = query.to_tts_request(body.text, controls)
    check_limits(order, gateway.settings)
    facts = {
        "dg-request-id": request.state.request_id,
        "dg-char-count": str(controls.characters),
        "dg-pronunciations-applied": "0",
        "dg-breaks-applied": str(controls.pauses),
    }
    ignored = ignored_fields([*query.model_extra, *body.model_extra])
    return SpeechResponse(request, gateway, order, DEEPGRAM, facts | ignored)
