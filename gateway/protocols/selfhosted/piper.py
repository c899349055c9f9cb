"""Piper's HTTP server (`python -m piper.http_server`), at `/piper`.

POST /piper         {"text": "Good morning.", "voice": "ruth", "length_scale": 1.1}  ->  a WAV file
GET  /piper/voices  {"ruth": {...}, ...}
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from gateway.api.voices.voices import visible_voices
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.protocols.response import SpeechResponse
from gateway.requests import Name, Text, check_limits, translated
from gateway.service import GatewayDep

PIPER = "piper"
"""The protocol's name, in metrics and sessions."""

router = APIRouter()


class PiperClip(Lenient):
    """What to say. Fields of Piper's own voices are ignored."""

    text: Text
    voice: Name | None = None
    length_scale: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0
    """How much longer than usual it takes."""


@router.post("/piper", response_class=Response)
async def speak_for_piper(body: PiperClip, request: Request, gateway: GatewayDep) -> Response:
    """The file, while it is generated."""
    fields = {"text": body.text, "voice": body.voice or "default", "speed": 1 / body.length_scale}
    order = translated(fields | {"format": "wav"}, "text")
    check_limits(order, gateway.settings)
    return SpeechResponse(request, gateway, order, PIPER, ignored_fields(body.model_extra or ()))


@router.get("/piper/voices")
async def list_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The voices that the caller may name, by id."""
    voices = await visible_voices(request, gateway, admin=False)
    return {voice["id"]: {"name": voice["name"], "language": {"code": voice["language"]}} for voice in voices}
