"""A clip over HTTP, four ways: raw audio or with the time of each character, whole or as it comes."""

from __future__ import annotations

import base64
import json
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from gateway.api.connection import CLIENT_GONE, ClientGoneError
from gateway.errors import ApiError
from gateway.protocols.clip import Collector, finished_clip
from gateway.protocols.elevenlabs.request import ELEVENLABS, ElevenLabsClip, known_voice
from gateway.protocols.elevenlabs.timing import in_seconds
from gateway.protocols.response import Framing, SpeechResponse
from gateway.requests import TtsRequest, check_limits
from gateway.service import Gateway, GatewayDep
from gateway.streams.character_times import CharacterTimes, Timed, spread
from gateway.synthesis.synthesis import Outcome

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
    return SpeechResponse(request, gateway, order, ELEVENLABS, _headers(request, body))


@router.post(_CLIP + "/stream/with-timestamps", response_class=Response)
async def speak_with_times(
    voice_id: str,
    body: ElevenLabsClip,
    request: Request,
    gateway: GatewayDep,
    output_format: str | None = None,
) -> Response:
    """A line of JSON for each piece of the file, with the times of the characters that are said in it."""
    order = await _order(voice_id, body, gateway, output_format)
    return SpeechResponse(
        request, gateway, order, ELEVENLABS, _headers(request, body), _TimedLines(order.speed)
    )


@router.post(_CLIP + "/with-timestamps", response_class=Response)
async def speak_whole_with_times(
    voice_id: str,
    body: ElevenLabsClip,
    request: Request,
    gateway: GatewayDep,
    output_format: str | None = None,
) -> Response:
    """The whole file in one JSON, with the times of all characters."""
    order = await _order(voice_id, body, gateway, output_format)
    collector = _TimedCollector()
    try:
        outcome, file, facts = await finished_clip(request, gateway, order, collector, ELEVENLABS)
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    headers = facts | _headers(request, body)
    return JSONResponse(_with_times(file, collector.times(outcome)), headers=headers)


async def _order(
    voice_id: str, body: ElevenLabsClip, gateway: Gateway, format_name: str | None
) -> TtsRequest:
    order = body.to_tts_request(gateway, await known_voice(gateway, voice_id), format_name)
    check_limits(order, gateway.settings)
    return order


def _headers(request: Request, body: ElevenLabsClip) -> dict[str, str]:
    return {"request-id": request.state.request_id, **body.ignored}


def _with_times(data: bytes, timed: list[Timed]) -> dict[str, Any]:
    alignment = in_seconds(timed)
    audio = base64.b64encode(data).decode()
    return {"audio_base64": audio, "alignment": alignment, "normalized_alignment": alignment}


class _TimedLines(Framing):
    """One JSON object a line."""

    media_type = "application/x-ndjson"

    def __init__(self, speed: float) -> None:
        self._times = CharacterTimes(speed)
        self._timed: list[Timed] = []
        """Not sent yet: an encoder may hold their audio back."""

    def part(self, text: str) -> None:
        """The next part of the text is said."""
        self._times.part(text)

    def heard(self, seconds: float) -> None:
        """So much more of it."""
        self._timed += self._times.heard(seconds)

    def audio(self, data: bytes) -> bytes:
        """A line with what was said since the last."""
        timed, self._timed = self._timed, []
        return _line(_with_times(data, timed))

    def end(self, outcome: Outcome, characters: int) -> bytes:
        """The characters that are left."""
        timed = self._timed + self._times.rest()
        return _line(_with_times(b"", timed)) if timed else b""

    def broken(self, error: ApiError) -> bytes:
        """What went wrong, before the connection is cut."""
        return _line({"detail": {"status": error.code, "message": error.message}})


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


class _TimedCollector(Collector):
    """Notes where the parts begin too."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[tuple[str, int]] = []
        """Text, and bytes of audio before it."""

    def part(self, text: str) -> None:
        """It begins here."""
        self._parts.append((text, sum(map(len, self.chunks))))

    def times(self, outcome: Outcome) -> list[Timed]:
        """Of all characters, when the clip is complete."""
        rate = 2 * outcome.sample_rate
        starts = [start / rate for _, start in self._parts]
        ends = [*starts[1:], outcome.audio_seconds]
        spans = zip(self._parts, starts, ends, strict=True)
        return [timed for (text, _), start, end in spans for timed in spread(text, start, end)]
