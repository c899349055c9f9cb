"""`/api/tts` of Coqui's `tts-server`: a query or a form, and a WAV file.

GET /api/tts?text=Good%20morning.&speaker_id=ruth&language_id=en
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from gateway.callers.origin import FOR_ANY_PAGE
from gateway.protocols.clip import whole_clip
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import EMPTY_IS_NOTHING, Lenient
from gateway.protocols.play import FOR_PLAYERS, head_of
from gateway.protocols.selfhosted.forms import read_fields
from gateway.protocols.selfhosted.speakers import Speaker, named_voice
from gateway.requests import Language, Text, translated
from gateway.service import GatewayDep

COQUI = "coqui"
"""The protocol's name, in metrics and sessions."""
PATH = "/api/tts"

router = APIRouter()


class CoquiClip(Lenient):
    """What to say, and who says it."""

    text: Text
    speaker_id: Speaker = ""
    speaker_wav: Speaker = ""
    language_id: Annotated[Language | None, EMPTY_IS_NOTHING] = None


@router.get(PATH, response_class=Response, dependencies=[FOR_PLAYERS])
@router.post(PATH, response_class=Response, dependencies=[FOR_PLAYERS])
@router.head(PATH, dependencies=[FOR_PLAYERS], include_in_schema=False)
async def speak_for_coqui(request: Request, gateway: GatewayDep) -> Response:
    """The file, whole."""
    said = await read_fields(CoquiClip, request)
    tenant = gateway.callers.identify(request).tenant
    voice = await named_voice(gateway, said.speaker_id or said.speaker_wav, tenant)
    order = translated({"text": said.text, "voice": voice, "language": said.language_id})
    if request.method == "HEAD":
        return head_of(order)
    ignored = ignored_fields(name for name, value in (said.model_extra or {}).items() if value)
    return await whole_clip(request, gateway, order, COQUI, FOR_ANY_PAGE | ignored)
