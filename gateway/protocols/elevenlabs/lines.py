"""`POST /v1/text-to-dialogue`: what several voices say in turn, as one clip, in the same four ways."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from starlette.responses import JSONResponse

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.audio.formats import encode_clip
from gateway.protocols.clip import Collector, begin_clip
from gateway.protocols.elevenlabs.messages import MOST_LINES, Line
from gateway.protocols.elevenlabs.request import ELEVENLABS, ElevenLabsClip, known_voice
from gateway.protocols.elevenlabs.speech import TimedLines, headers_of, with_times
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.protocols.response import SpeechResponse, json_line
from gateway.requests import Language, TtsRequest, check_limits
from gateway.service import Gateway, GatewayDep
from gateway.streams.listener import Outcome
from gateway.synthesis.patience import Patience
from gateway.timing.part import PartTimes

router = APIRouter()
_PATH = "/v1/text-to-dialogue"


class Lines(Lenient):
    """The body. Unknown fields are ignored."""

    inputs: Annotated[list[Line], Field(min_length=1, max_length=MOST_LINES)]
    model_id: str | None = "eleven_v3"
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    language_code: Language | None = None
    apply_text_normalization: Literal["auto", "on", "off"] = "auto"

    async def to_tts_requests(
        self, request: Request, format_name: str | None, *, timed: bool = False, whole: bool = False
    ) -> list[TtsRequest]:
        """One for each line. Raises ApiError, also for a voice that speaks later."""
        gateway: Gateway = request.app.state.gateway
        tenant = gateway.callers.identify(request).tenant
        text = "".join(line.text for line in self.inputs)
        check_limits(
            TtsRequest(text="x").model_copy(update={"text": text}), gateway.settings, "inputs", whole=whole
        )
        shared = self.model_dump(exclude={"inputs", *self.model_extra})
        orders = []
        for line in self.inputs:
            clip = ElevenLabsClip(text=line.text, **shared)
            order = clip.to_tts_request(gateway, await known_voice(gateway, line.voice_id), format_name)
            await gateway.check_speaker(order, tenant)
            orders.append(order.model_copy(update={"timestamps": "character" if timed else "none"}))
        return orders

    def headers(self, request: Request) -> dict[str, str]:
        """The headers of the answer."""
        return headers_of(request, ignored_fields(self.model_extra))


@router.post(_PATH, response_class=Response)
@router.post(_PATH + "/stream", response_class=Response)
async def speak_lines(
    body: Lines, request: Request, gateway: GatewayDep, output_format: str | None = None
) -> Response:
    """The file, while it is generated."""
    orders = await body.to_tts_requests(request, output_format)
    return LinesResponse(request, gateway, orders, body.headers(request))


@router.post(_PATH + "/stream/with-timestamps", response_class=Response)
async def speak_lines_with_times(
    body: Lines, request: Request, gateway: GatewayDep, output_format: str | None = None
) -> Response:
    """A line of JSON for each piece of the file, with the times of the characters that are said in it."""
    orders = await body.to_tts_requests(request, output_format, timed=True)
    return LinesResponse(request, gateway, orders, body.headers(request), _Segments(body.inputs))


@router.post(_PATH + "/with-timestamps", response_class=Response)
async def speak_whole_lines_with_times(
    body: Lines, request: Request, gateway: GatewayDep, output_format: str | None = None
) -> Response:
    """The whole file in one JSON, with the times of all characters."""
    orders = await body.to_tts_requests(request, output_format, timed=True, whole=True)
    try:
        file, parts = await _whole(request, gateway, orders)
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    said = with_times(file, [part for _, part in parts])
    said["voice_segments"] = _segments(parts, body.inputs)
    return JSONResponse(said, headers=body.headers(request))


class LinesResponse(SpeechResponse):
    """Speaks one line after the other into the same file."""

    def __init__(
        self,
        request: Request,
        gateway: Gateway,
        orders: list[TtsRequest],
        headers: dict[str, str],
        segments: _Segments | None = None,
    ) -> None:
        """`segments`: what is to stand around the audio. None: nothing."""
        self._caller = gateway.callers.identify(request)
        super().__init__(request, gateway, orders[0], ELEVENLABS, headers, segments, self._caller)
        self._gateway = gateway
        self._segments = segments
        self._orders = orders
        self._samples = 0
        self._before = 0.0
        """Seconds of the lines that are said."""

    async def _make(self) -> None:
        outcome = await self._synthesis.run()
        for index, order in enumerate(self._orders[1:], 1):
            self._before = self._samples / self._sample_rate
            if self._segments is not None:
                self._segments.line = index
            patience = Patience(self._gateway.settings, self._request.state.request_id)
            outcome = await patience.persist(partial(self._speak, order), lambda: self._samples)
        await self._outbox.flush()
        await self._finish(outcome)

    async def _speak(self, order: TtsRequest) -> Outcome:
        self._synthesis, _ = begin_clip(self._request, self._gateway, order, self, ELEVENLABS, self._caller)
        return await self._synthesis.run()

    def audio(self, pcm: bytes) -> None:
        """Into the file, and out."""
        self._samples += len(pcm) // 2
        super().audio(pcm)

    def timed(self, part: PartTimes) -> None:
        """For the frames, in its place between the audio."""
        super().timed(part.moved(0, self._before))


class _Segments(TimedLines):
    """A line of JSON also tells who says it."""

    def __init__(self, lines: list[Line]) -> None:
        self.line = 0
        """Which is spoken."""
        self._lines = lines

    def timed(self, part: PartTimes) -> str:
        """A line without audio."""
        said = {**with_times(b"", [part]), "voice_segments": _segments([(self.line, part)], self._lines)}
        return json_line(said).decode()

    def audio(self, data: bytes) -> bytes:
        """A line with the next bytes of the file."""
        return json_line({**with_times(data, []), "voice_segments": []})


def _segments(parts: list[tuple[int, PartTimes]], lines: list[Line]) -> list[dict[str, Any]]:
    """Who says which of the characters whose times are told, of these parts of lines."""
    segments, count = [], 0
    for line, part in parts:
        timed = part.characters
        segments.append(
            {
                "voice_id": lines[line].voice_id,
                "start_time_seconds": round(timed[0].start_seconds if timed else part.end_seconds, 3),
                "end_time_seconds": round(part.end_seconds, 3),
                "character_start_index": count,
                "character_end_index": (count := count + len(timed)),
                "dialogue_input_index": line,
            }
        )
    return segments


async def _whole(
    request: Request, gateway: Gateway, orders: list[TtsRequest]
) -> tuple[bytes, list[tuple[int, PartTimes]]]:
    """The file, and the parts of each line. Raises ApiError, ClientGoneError."""
    settings, caller = gateway.settings, gateway.callers.identify(request)
    longest = min(settings.max_clip_seconds, settings.max_audio_seconds)
    pcm, parts, rate = b"", [], orders[0].sample_rate

    async def spoken(order: TtsRequest, most_seconds: float) -> Collector:
        collector = Collector()
        synthesis, _ = begin_clip(
            request, gateway, order, collector, ELEVENLABS, caller, longest_seconds=most_seconds, whole=True
        )
        await synthesis.run()
        return collector

    for line, order in enumerate(orders):
        before = len(pcm) / 2 / rate
        speak = partial(spoken, order, max(1.0, longest - before))
        persist = Patience(settings, request.state.request_id).persist
        collector = await while_connected(request, persist(speak) if line else speak())
        pcm += b"".join(collector.chunks)
        parts += [(line, part.moved(0, before)) for part in collector.parts]
    noted, first = settings.provenance_note, orders[0]
    file = await asyncio.to_thread(encode_clip, pcm, rate, first.format, noted=noted, bit_rate=first.bit_rate)
    return file, parts
