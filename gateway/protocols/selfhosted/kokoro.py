"""`POST /dev/captioned_speech` of Kokoro-FastAPI: a clip, and when each of its words is said.

    {"input": "Good morning.", "voice": "af_heart", "response_format": "mp3", "stream": false}
    {"audio": base64, "audio_format": "audio/mpeg", "timestamps": [{"word", "start_time", "end_time"}]}

With `stream`, which is so unless it is said, such an object comes a line for each piece of the file. Words
come behind the audio of their sentence, in lines without audio.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError
from gateway.audio.formats import content_type_of
from gateway.errors import ApiError
from gateway.protocols.clip import Collector, finished_clip
from gateway.protocols.openai.request import OPENAI, OpenAiSpeechRequest
from gateway.protocols.openai.speech import translate
from gateway.protocols.response import Framing, SpeechResponse, json_line
from gateway.protocols.selfhosted.errors import shape
from gateway.service import GatewayDep
from gateway.timing.part import PartTimes

router = APIRouter()


class CaptionedRequest(OpenAiSpeechRequest):
    """As OpenAI's, and whether words are told."""

    stream: bool | None = True
    return_timestamps: bool = True


@router.post("/dev/captioned_speech", response_class=Response)
async def captioned_speech(order: CaptionedRequest, request: Request, gateway: GatewayDep) -> Response:
    """The audio and its words, in one object or as they come."""
    translated, headers = await translate(order, request, gateway)
    if order.return_timestamps:
        translated = translated.model_copy(update={"timestamps": "word"})
    if order.stream:
        framing = _Lines(content_type_of(translated.format, translated.sample_rate or 0))
        return SpeechResponse(request, gateway, translated, OPENAI, headers, framing)
    collector = Collector()
    try:
        outcome, file, facts = await finished_clip(
            request, gateway, translated, collector, OPENAI, text_field="input"
        )
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    told = _captioned(file, content_type_of(translated.format, outcome.sample_rate), collector.parts)
    return JSONResponse(told, headers=facts | headers)


def _captioned(data: bytes, content_type: str, parts: Iterable[PartTimes]) -> dict[str, Any]:
    words = [
        {
            "word": part.written(word),
            "start_time": round(word.start_seconds, 3),
            "end_time": round(word.end_seconds, 3),
        }
        for part in parts
        for word in part.words
    ]
    return {"audio": base64.b64encode(data).decode(), "audio_format": content_type, "timestamps": words}


class _Lines(Framing):
    """One JSON object a line."""

    media_type = "application/json"

    def __init__(self, content_type: str) -> None:
        self._content_type = content_type

    def timed(self, part: PartTimes) -> str:
        """A line without audio."""
        return json_line(_captioned(b"", self._content_type, [part])).decode()

    def audio(self, data: bytes) -> bytes:
        """The next bytes of the file."""
        return json_line(_captioned(data, self._content_type, []))

    def broken(self, error: ApiError) -> bytes:
        """What went wrong, before the connection is cut."""
        return json_line(shape(error))
