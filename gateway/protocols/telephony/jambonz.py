"""`POST /jambonz`: custom speech vendors of jambonz, see docs.jambonz.org, "Text-to-speech API".

    {"language": "en-US", "voice": "ruth", "type": "text", "text": "Good morning."}

The answer is an mp3, while it is generated. `type` is `ssml` for a document.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response

from gateway.protocols.lenient import EMPTY_IS_NOTHING, Lenient
from gateway.protocols.response import SpeechResponse
from gateway.protocols.telephony.query import QueryOfAgent
from gateway.requests import Language, Name, Text
from gateway.service import GatewayDep

JAMBONZ = "jambonz"
"""The protocol's name, in metrics and sessions."""

router = APIRouter()


class Synthesis(Lenient):
    """What to say."""

    text: Text
    type: Literal["text", "ssml"] = "text"
    voice: Annotated[Name | None, EMPTY_IS_NOTHING] = None
    language: Annotated[Language | None, EMPTY_IS_NOTHING] = None


@router.post("/jambonz", response_class=Response)
async def speak_for_jambonz(
    body: Synthesis, query: QueryOfAgent, request: Request, gateway: GatewayDep
) -> Response:
    """The audio."""
    order = query.to_tts_request(
        gateway, body.text, input_type=body.type, voice=body.voice, language=body.language, format="mp3"
    )
    return SpeechResponse(request, gateway, order, JAMBONZ, {})
