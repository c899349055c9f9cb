"""`POST /tts`: a clip in one response, whole or as it comes.

With `timestamps` the answer is JSON instead of the file: one object, or a line for each thing that happens.
"""

from __future__ import annotations

import base64
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError
from gateway.errors import ApiError
from gateway.protocols.clip import Collector, clip_headers, content_type_of, finished_clip, whole_clip
from gateway.protocols.response import Framing, SpeechResponse, json_line
from gateway.requests import NATIVE, ClipRequest
from gateway.service import Gateway, GatewayDep
from gateway.synthesis.synthesis import Outcome
from gateway.timing.part import PartTimes
from gateway.timing.subtitles import as_fields, joined
from gateway.timing.words import Granularity

router = APIRouter()


@router.post("/tts", response_class=Response)
async def synthesize(order: ClipRequest, request: Request, gateway: GatewayDep) -> Response:
    """Speak `text`; the response is the audio file. When it is whole, its headers say how it went."""
    timed = order.timestamps != "none"
    if order.stream:
        framing = _TimedLines(order.timestamps) if timed else None
        return SpeechResponse(request, gateway, order, NATIVE, {}, framing)
    if timed:
        return await _timed_clip(order, request, gateway)
    return await whole_clip(request, gateway, order, NATIVE, {})


async def _timed_clip(order: ClipRequest, request: Request, gateway: Gateway) -> Response:
    collector = Collector()
    try:
        outcome, file, facts = await finished_clip(request, gateway, order, collector, NATIVE)
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    headers = clip_headers(outcome)
    times = [as_fields(part, order.timestamps) for part in collector.parts]
    content = {
        "audio": _in_base64(file),
        "content_type": content_type_of(order.format, outcome.sample_rate),
        **_facts(outcome),
        "timestamps": joined(times),
    }
    return JSONResponse(content, headers=headers | facts)


class _TimedLines(Framing):
    """A line of JSON for each piece of the file, each part's times, and the end."""

    media_type = "application/x-ndjson"

    def __init__(self, granularity: Granularity) -> None:
        self._granularity: Granularity = granularity

    def timed(self, part: PartTimes) -> str:
        """`timestamps`."""
        return json_line({"type": "timestamps", **as_fields(part, self._granularity)}).decode()

    def audio(self, data: bytes) -> bytes:
        """`audio`: the next bytes of the file."""
        return json_line({"type": "audio", "audio": _in_base64(data)})

    def end(self, outcome: Outcome, characters: int) -> bytes:
        """`done`."""
        return json_line({"type": "done", **_facts(outcome)})

    def broken(self, error: ApiError) -> bytes:
        """`error`; then the connection is cut."""
        return json_line({"type": "error", **error.to_message()})


def _facts(outcome: Outcome) -> dict[str, Any]:
    return {
        "sample_rate": outcome.sample_rate,
        "audio_seconds": round(outcome.audio_seconds, 6),
        "finish_reason": outcome.finish_reason,
        "seed": outcome.seed,
    }


def _in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
