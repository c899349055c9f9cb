"""`POST /vapi`: Vapi's custom voices, see docs.vapi.ai, "Custom TTS integration".

    {"message": {"type": "voice-request", "text": "Good morning.", "sampleRate": 24000, ...}}

The answer is raw s16le mono of that rate, while it is generated. Vapi's `secret` is a key of the service.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from gateway.protocols.lenient import EMPTY_IS_NOTHING, Lenient
from gateway.protocols.response import Framing, SpeechResponse
from gateway.protocols.telephony.query import QueryOfAgent
from gateway.requests import Name, Text
from gateway.service import GatewayDep

VAPI = "vapi"
"""The protocol's name, in metrics and sessions."""

router = APIRouter()


class VoiceRequest(Lenient):
    """What to say, beside much about the call that nothing is done with."""

    type: Literal["voice-request"]
    text: Text
    sample_rate: Annotated[int, Field(ge=8000, le=48_000, alias="sampleRate")] = 24_000
    voice: Annotated[Name | None, EMPTY_IS_NOTHING] = Field(None, alias="voiceId")


class VoiceMessage(Lenient):
    """The body."""

    message: VoiceRequest


class _Raw(Framing):
    media_type = "audio/raw"


@router.post("/vapi", response_class=Response)
async def speak_for_vapi(
    body: VoiceMessage, query: QueryOfAgent, request: Request, gateway: GatewayDep
) -> Response:
    """The audio."""
    said = body.message
    order = query.to_tts_request(
        gateway, said.text, voice=said.voice, format="pcm", sample_rate=said.sample_rate
    )
    return SpeechResponse(request, gateway, order, VAPI, {}, _Raw())
