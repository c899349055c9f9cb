"""A clip over HTTP, four ways: raw audio or with the time of each character, whole or as it comes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError
from gateway.errors import ApiError
from gateway.protocols.clip import Collector, finished_clip
from gateway.protocols.elevenlabs.request import ELEVENLABS, ElevenLabsClip, known_voice
from gateway.protocols.elevenlabs.timing import in_seconds
from gateway.protocols.response import Framing, SpeechResponse, json_line
from gateway.requests import TtsRequest, check_limits
from gateway.service import Gateway, GatewayDep
from gateway.timing.part import PartTimes, source_of

router = APIRouter()
_CLIP = "/v1/text-to-speech/{voice_id}"


@router.post(_CLIP, response_class=Response)
@router.post(_CLIP + "/stream", response_class=Response)
async def speak(
    voice_id: str,
    body: ElevenLabsClip,
    request: Request,
    gateway: GatewayDep,
    output_format: str | None = None,
) -> Response:
    """The file, while it is generated."""
    order = await _order(voice_id, body, gateway, output_format)
    return SpeechResponse(request, gateway, order, ELEVENLABS, headers_of(request, body.ignored))


@router.post(_CLIP + "/stream/with-timestamps", response_class=Response)
async def speak_with_times(
    voice_id: str,
    body: ElevenLabsClip,
    request: Request,
    gateway: GatewayDep,
    output_format: str | None = None,
) -> Response:
    """A line of JSON for each piece of the file, with the times of the characters that are said in it."""
    order = await _order(voice_id, body, gateway, output_format, timed=True)
    headers = headers_of(request, body.ignored)
    return SpeechResponse(request, gateway, order, ELEVENLABS, headers, TimedLines())


@router.post(_CLIP + "/with-timestamps", response_class=Response)
async def speak_whole_with_times(
    voice_id: str,
    body: ElevenLabsClip,
    request: Request,
    gateway: GatewayDep,
    output_format: str | None = None,
) -> Response:
    """The whole file in one JSON, with the times of all characters."""
    order = await _order(voice_id, body, gateway, output_format, timed=True)
    collector = Collector()
    try:
        _, file, facts = await finished_clip(request, gateway, order, collector, ELEVENLABS)
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    headers = facts | headers_of(request, body.ignored)
    return JSONResponse(with_times(file, collector.parts), headers=headers)


async def _order(
    voice_id: str, body: ElevenLabsClip, gateway: Gateway, format_name: str | None, *, timed: bool = False
) -> TtsRequest:
    order = body.to_tts_request(gateway, await known_voice(gateway, voice_id), format_name)
    if timed:
        order = order.model_copy(update={"timestamps": "character"})
    check_limits(order, gateway.settings)
    return order


def headers_of(request: Request, ignored: dict[str, str]) -> dict[str, str]:
    """The headers of every answer."""
    return {"request-id": request.state.request_id, **ignored}


def with_times(data: bytes, parts: Sequence[PartTimes]) -> dict[str, Any]:
    """`alignment_source` is not ElevenLabs', whose clients pass over it."""
    alignment = in_seconds(parts)
    audio = base64.b64encode(data).decode()
    said = {"audio_base64": audio, "alignment": alignment, "normalized_alignment": alignment}
    return {**said, "alignment_source": source_of(parts)} if parts else said


class TimedLines(Framing):
    """One JSON object a line."""

    media_type = "application/x-ndjson"

    def timed(self, part: PartTimes) -> str:
        """A line without audio."""
        return json_line(with_times(b"", [part])).decode()

    def audio(self, data: bytes) -> bytes:
        """A line with the next bytes of the file."""
        return json_line(with_times(data, []))

    def broken(self, error: ApiError) -> bytes:
        """What went wrong, before the connection is cut."""
        return json_line({"detail": {"status": error.code, "message": error.message}})
