"""`POST /tts`: a clip in one response, whole or as it comes. `POST /v1/audio/speech`: in OpenAI's form."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter, Request, Response

from gateway.api.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.api.speech_response import SpeechResponse, content_type_of
from gateway.audio.formats import encode_clip
from gateway.audio.note import note_headers
from gateway.requests import ClipRequest, OpenAiSpeechRequest, TtsRequest, check_limits
from gateway.service import Gateway, GatewayDep
from gateway.sessions.witness import witness_clip
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.voices.catalog import built_in_voices, served_models

router = APIRouter()


class _Collector:
    """Keeps the audio of a clip until it is complete."""

    __slots__ = ("chunks",)

    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """Nobody to tell: the client of a plain request hears the answer only."""

    def started(self, worker_id: str, sample_rate: int) -> None:
        """Nobody to tell."""

    def audio(self, pcm: bytes) -> None:
        self.chunks.append(pcm)

    def resumable(self, token: str, samples: int) -> None:
        """Nobody to tell."""


@router.post("/tts", response_class=Response)
async def synthesize(order: ClipRequest, request: Request, gateway: GatewayDep) -> Response:
    """Speak `text`; the response is the audio file. When it is whole, its headers say how it went."""
    if order.stream:
        return _speak_at_once(order, request, gateway)
    return await _speak(order, request, gateway)


@router.post("/v1/audio/speech", response_class=Response)
async def openai_speech(order: OpenAiSpeechRequest, request: Request, gateway: GatewayDep) -> Response:
    """OpenAI's form of the same request. The audio comes while it is generated, as OpenAI's does; a wav file,
    whose header has its length, comes whole unless events are asked for.
    """
    names = {voice["id"] for voice in built_in_voices(gateway.pool)}
    translated = order.to_tts_request(served_models(gateway.pool), names)
    check_limits(translated, gateway.settings, "input")
    events = order.stream_format == "sse"
    if order.response_format == "wav" and not events:
        return await _speak(translated, request, gateway)
    return _speak_at_once(translated, request, gateway, events)


def _speak_at_once(
    order: TtsRequest, request: Request, gateway: Gateway, events: bool = False
) -> SpeechResponse:
    response = SpeechResponse(request, order.format, gateway.metrics, gateway.settings, events)
    caller = gateway.callers.identify(request)
    witness = witness_clip(gateway.recorder, order, caller.tenant, response)
    response.synthesis = Synthesis(
        gateway, order, request.state.request_id, witness, caller.standing(order), witness=witness
    )
    if witness.session_id is not None:
        response.extra_headers["X-Session-Id"] = witness.session_id
    return response


async def _speak(order: TtsRequest, request: Request, gateway: Gateway) -> Response:
    collector = _Collector()
    caller = gateway.callers.identify(request)
    witness = witness_clip(gateway.recorder, order, caller.tenant, collector)
    synthesis = Synthesis(
        gateway, order, request.state.request_id, witness, caller.standing(order), witness=witness
    )
    try:
        outcome = await while_connected(request, synthesis.run())
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    began_at = time.monotonic()
    pcm = b"".join(collector.chunks)
    noted = gateway.settings.provenance_note
    file = await asyncio.to_thread(encode_clip, pcm, outcome.sample_rate, order.format, noted=noted)
    gateway.metrics.encode_seconds.labels(order.format).observe(time.monotonic() - began_at)
    headers = _headers(outcome, order.format) | note_headers(noted)
    if witness.session_id is not None:
        headers["X-Session-Id"] = witness.session_id
    return Response(file, headers=headers)


def _headers(outcome: Outcome, format: str) -> dict[str, str]:
    return {
        "Content-Type": content_type_of(format, outcome.sample_rate),
        "Content-Disposition": f'inline; filename="speech.{format}"',
        "X-Sample-Rate": str(outcome.sample_rate),
        "X-Audio-Seconds": f"{outcome.audio_seconds:.6f}",
        "X-Queue-Seconds": f"{outcome.queue_seconds:.6f}",
        "X-First-Audio-Seconds": f"{outcome.first_audio_seconds:.6f}",
        "X-Finish-Reason": outcome.finish_reason,
        "X-Seed": str(outcome.seed),
        "X-Migrations": str(outcome.migrations),
    }
