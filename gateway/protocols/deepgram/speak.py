"""`POST /v1/speak`: a text becomes a clip that comes while it is generated."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from gateway.protocols.deepgram.request import DEEPGRAM, read_query
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.response import SpeechResponse
from gateway.requests import Text, check_limits
from gateway.service import GatewayDep

router = APIRouter()


class SpeakBody(BaseModel):
    """What to say."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: Text


@router.post("/v1/speak", response_class=Response)
async def speak(body: SpeakBody, request: Request, gateway: GatewayDep) -> Response:
    """The audio, in the encoding and the container that the query names."""
    query = await read_query(request.query_params, gateway)
    order = query.to_tts_request(body.text)
    check_limits(order, gateway.settings)
    facts = {"dg-request-id": request.state.request_id, "dg-char-count": str(len(body.text))}
    ignored = ignored_fields([*query.model_extra, *body.model_extra])
    return SpeechResponse(request, gateway, order, DEEPGRAM, facts | ignored)
