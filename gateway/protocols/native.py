"""`POST /tts`: a clip in one response, whole or as it comes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from gateway.protocols.clip import whole_clip
from gateway.protocols.response import SpeechResponse
from gateway.requests import NATIVE, ClipRequest
from gateway.service import GatewayDep

router = APIRouter()


@router.post("/tts", response_class=Response)
async def synthesize(order: ClipRequest, request: Request, gateway: GatewayDep) -> Response:
    """Speak `text`; the response is the audio file. When it is whole, its headers say how it went."""
    if order.stream:
        return SpeechResponse(request, gateway, order, NATIVE, {})
    return await whole_clip(request, gateway, order, NATIVE, {})
