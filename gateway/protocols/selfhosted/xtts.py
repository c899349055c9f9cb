"""xtts-api-server, at `/xtts`.

POST /xtts/tts_to_audio/  {"text": "Good morning.", "speaker_wav": "ruth", "language": "en"}  ->  a WAV file
GET  /xtts/tts_stream/    the same as a query; the file comes while it is generated
GET  /xtts/speakers       [{"name": "ruth", "voice_id": "ruth", "preview_url": "http://..."}, ...]
GET  /xtts/speakers_list  ["ruth", ...]
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from gateway.api.voices.voices import visible_voices
from gateway.callers.origin import FOR_ANY_PAGE
from gateway.protocols.clip import whole_clip
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import EMPTY_IS_NOTHING, Lenient
from gateway.protocols.play import FOR_PLAYERS, head_of
from gateway.protocols.response import SpeechResponse
from gateway.protocols.selfhosted.forms import read_fields
from gateway.protocols.selfhosted.speakers import Speaker, named_voice
from gateway.requests import Language, Text, TtsRequest, check_limits, translated
from gateway.service import Gateway, GatewayDep

XTTS = "xtts"
"""The protocol's name, in metrics and sessions."""

router = APIRouter(prefix="/xtts")


class XttsClip(Lenient):
    """What to say. Other fields are ignored."""

    text: Text
    speaker_wav: Speaker = ""
    language: Annotated[Language | None, EMPTY_IS_NOTHING] = None

    async def to_tts_request(self, request: Request, gateway: Gateway) -> TtsRequest:
        """A clip of the voice that is named. Raises ApiError."""
        tenant = gateway.callers.identify(request).tenant
        voice = await named_voice(gateway, self.speaker_wav, tenant)
        return translated({"text": self.text, "voice": voice, "language": self.language})


@router.post("/tts_to_audio/", response_class=Response)
async def speak_for_xtts(body: XttsClip, request: Request, gateway: GatewayDep) -> Response:
    """The file, whole, as players without streaming need it."""
    order = await body.to_tts_request(request, gateway)
    return await whole_clip(request, gateway, order, XTTS, ignored_fields(body.model_extra or ()))


@router.get("/tts_stream/", response_class=Response, dependencies=[FOR_PLAYERS])
@router.head("/tts_stream/", dependencies=[FOR_PLAYERS], include_in_schema=False)
async def stream_for_xtts(request: Request, gateway: GatewayDep) -> Response:
    """The file, for players that are given its address."""
    query = await read_fields(XttsClip, request)
    order = await query.to_tts_request(request, gateway)
    check_limits(order, gateway.settings)
    if request.method == "HEAD":
        return head_of(order)
    headers = FOR_ANY_PAGE | ignored_fields(query.model_extra or ())
    return SpeechResponse(request, gateway, order, XTTS, headers)


@router.get("/speakers")
async def list_speakers(request: Request, gateway: GatewayDep) -> list[dict[str, Any]]:
    """The voices that the caller may name."""
    address = str(request.base_url).rstrip("/")
    return [
        {"name": voice["name"], "voice_id": voice["id"], "preview_url": address + voice["preview_url"]}
        for voice in await visible_voices(request, gateway, admin=False)
    ]


@router.get("/speakers_list")
async def list_names(request: Request, gateway: GatewayDep) -> list[str]:
    """Their ids."""
    return [voice["id"] for voice in await visible_voices(request, gateway, admin=False)]
