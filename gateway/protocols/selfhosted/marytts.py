"""MaryTTS, at its own `/process`, for clients that are told a host and a port, and at `/marytts`.

GET or POST /process?INPUT_TEXT=Good%20morning.&INPUT_TYPE=TEXT&OUTPUT_TYPE=AUDIO&AUDIO=WAVE_FILE&VOICE=ruth
GET /marytts/voices  a line for each: ruth en_US other voxfleet
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BeforeValidator, Field
from starlette.responses import PlainTextResponse

from gateway.api.voices.voices import visible_voices
from gateway.callers.origin import FOR_ANY_PAGE
from gateway.errors import ApiError
from gateway.protocols.clip import whole_clip
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import EMPTY_IS_NOTHING, Lenient
from gateway.protocols.play import FOR_PLAYERS, head_of
from gateway.protocols.selfhosted.forms import read_fields
from gateway.requests import Language, Name, Text, translated
from gateway.service import GatewayDep
from gateway.voices.catalog import spoken_languages

MARYTTS = "marytts"
"""The protocol's name, in metrics and sessions."""
PATHS = ("/process", "/marytts/process")
TEXT_FIELD = "INPUT_TEXT"
_THEIR_VOICE = re.compile(r"(cmu|dfki|upmc|enst|istc|marylux)-.+|.+-hsmm|bits[1-4]", re.IGNORECASE)
"""Names of MaryTTS, one of which clients send unless they are told another."""
_DURATION = re.compile(r"durScale:(\d{1,3}(?:\.\d{1,6})?);?")

router = APIRouter()


def _hyphenated(locale: str) -> str | None:
    return locale.replace("_", "-") or None


class MaryClip(Lenient):
    """What to say. Of effects that of the rate is followed."""

    text: Text = Field(alias=TEXT_FIELD)
    input_type: Literal["TEXT", "SSML"] = Field("TEXT", alias="INPUT_TYPE")
    output_type: Literal["AUDIO"] = Field("AUDIO", alias="OUTPUT_TYPE")
    audio: Literal["WAVE", "WAVE_FILE", "WAVE_STREAM", "MP3", "MP3_FILE"] = Field("WAVE", alias="AUDIO")
    voice: Annotated[Name | None, EMPTY_IS_NOTHING] = Field(None, alias="VOICE")
    locale: Annotated[Language | None, BeforeValidator(_hyphenated)] = Field(None, alias="LOCALE")
    rate_is_set: str = Field("", alias="effect_Rate_selected")
    rate: str = Field("", alias="effect_Rate_parameters")

    @property
    def speed(self) -> float:
        """How fast to speak. Raises ApiError."""
        if self.rate_is_set != "on":
            return 1.0
        scale = _DURATION.fullmatch(self.rate)
        if scale is None or not 0.25 <= float(scale[1]) <= 4.0:
            message = "effect_Rate_parameters: is durScale:N; with N from 0.25 to 4"
            raise ApiError(422, "invalid_value", message, param="effect_Rate_parameters")
        return 1 / float(scale[1])


@router.get(PATHS[0], response_class=Response, dependencies=[FOR_PLAYERS])
@router.post(PATHS[0], response_class=Response, dependencies=[FOR_PLAYERS])
@router.get(PATHS[1], response_class=Response, dependencies=[FOR_PLAYERS])
@router.post(PATHS[1], response_class=Response, dependencies=[FOR_PLAYERS])
@router.head(PATHS[0], dependencies=[FOR_PLAYERS], include_in_schema=False)
@router.head(PATHS[1], dependencies=[FOR_PLAYERS], include_in_schema=False)
async def speak_for_marytts(request: Request, gateway: GatewayDep) -> Response:
    """The file, whole."""
    said = await read_fields(MaryClip, request)
    voice = said.voice or "default"
    tenant = gateway.callers.identify(request).tenant
    if _THEIR_VOICE.fullmatch(voice) and not await gateway.voices.knows(voice, tenant):
        voice = "default"
    fields = {
        "text": said.text,
        "input_type": said.input_type.lower(),
        "voice": voice,
        "language": said.locale,
        "speed": said.speed,
        "format": "mp3" if said.audio.startswith("MP3") else "wav",
    }
    order = translated(fields, TEXT_FIELD)
    if request.method == "HEAD":
        return head_of(order)
    ignored = ignored_fields(name for name, value in (said.model_extra or {}).items() if value)
    return await whole_clip(request, gateway, order, MARYTTS, FOR_ANY_PAGE | ignored, text_field=TEXT_FIELD)


@router.get("/marytts/voices", response_class=PlainTextResponse)
async def list_voices(request: Request, gateway: GatewayDep) -> str:
    """A line for each voice and language: its id, the locale, a gender that nobody knows, a kind."""
    languages = spoken_languages(gateway.pool)
    return "".join(
        f"{voice['id']} {language.replace('-', '_')} other voxfleet\n"
        for voice in await visible_voices(request, gateway, admin=False)
        for language in ([voice["language"]] if voice["language"] else languages)
    )
