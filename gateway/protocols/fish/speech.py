"""`POST /v1/tts`: a text becomes a clip that comes while it is generated. The body is JSON or MessagePack."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from gateway.errors import from_validation
from gateway.protocols.fish.packing import unpacked
from gateway.protocols.fish.request import FISH, SpeechBody
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.kinds import OfKinds
from gateway.protocols.response import SpeechResponse
from gateway.requests import check_limits
from gateway.service import Gateway, GatewayDep


class _Packed(OfKinds):
    kinds = ("application/msgpack", "application/x-msgpack", "application/vnd.msgpack")


router = APIRouter()
_packed = APIRouter(route_class=_Packed, include_in_schema=False)


@_packed.post("/v1/tts")
async def speak_packed_for_fish(request: Request, gateway: GatewayDep) -> Response:
    """The same of a body in MessagePack, which no page of another site may send unasked."""
    fields = unpacked(await request.body(), "body")
    try:
        body = SpeechBody.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error.errors()) from error
    return await _speak(body, request, gateway)


router.include_router(_packed)


@router.post("/v1/tts", response_class=Response)
async def speak_for_fish(body: SpeechBody, request: Request, gateway: GatewayDep) -> Response:
    """The audio, in the format that the body names."""
    return await _speak(body, request, gateway)


async def _speak(body: SpeechBody, request: Request, gateway: Gateway) -> Response:
    order = await body.to_tts_request(gateway)
    check_limits(order, gateway.settings)
    return SpeechResponse(request, gateway, order, FISH, ignored_fields(body.model_extra or ()))
