"""What Cartesia's clients ask for: a transcript, a voice and an output format."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gateway.adapters.naming import named_model
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.tags import Tags, clip_fields
from gateway.requests import BitRate, Language, Name, Text, TtsRequest, translated
from gateway.service import Gateway
from gateway.voices.catalog import served_models

CARTESIA = "cartesia"
"""The protocol's name, in metrics and sessions."""
_SAMPLES = {"pcm_s16le": "pcm", "pcm_f32le": "f32", "pcm_mulaw": "ulaw", "pcm_alaw": "alaw"}
"""Encodings, and our formats."""
CUES = "laughter"
"""What in brackets is not read."""
_SPEEDS = {"slow": 0.8, "normal": 1.0, "fast": 1.2}
_THEIR_VOICE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _voice_id(voice: Any) -> Any:
    if isinstance(voice, dict) and "id" not in voice:
        raise ValueError("a voice is named by its id here, no embedding is taken")
    return voice["id"] if isinstance(voice, dict) else voice


def _speed(speed: Any) -> Any:
    return _SPEEDS.get(speed, speed) if isinstance(speed, str) else speed


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class OutputFormat(_Part):
    """The file, or the samples."""

    container: Literal["raw", "wav", "mp3"] = "raw"
    encoding: Literal["pcm_s16le", "pcm_f32le", "pcm_mulaw", "pcm_alaw"] = "pcm_f32le"
    sample_rate: Annotated[int, Field(ge=8000, le=48_000)] = 44_100
    bit_rate: BitRate | None = None
    """Bits per second of mp3."""

    @property
    def format(self) -> str:
        """Ours."""
        if self.container == "mp3":
            return "mp3"
        samples = _SAMPLES[self.encoding]
        if self.container == "raw":
            return samples
        return "wav" if samples == "pcm" else f"wav-{samples}"


class GenerationConfig(_Part):
    """The client's generation settings, of which the speed is taken."""

    speed: Annotated[float, Field(ge=0.25, le=4)] | None = None


class Generation(_Part):
    """The body of `/tts/bytes` and `/tts/sse`, and a message over the socket.

    `model_id` may be any name: one that nobody serves means whichever is served. A voice of Cartesia's that
    nobody made here is the default one.
    """

    model_id: Text | None = None
    transcript: Text
    voice: Annotated[Name, BeforeValidator(_voice_id)] = "default"
    output_format: OutputFormat = Field(default_factory=OutputFormat)
    language: Language | None = None
    locale: Language | None = None
    generation_config: GenerationConfig | None = None
    speed: Annotated[Annotated[float, Field(ge=0.25, le=4)] | None, BeforeValidator(_speed)] = None
    normalization: Text | None = None
    """"off", or how figures are put into words, which is decided here."""
    context_id: Annotated[Text, Field(max_length=256)] | None = None
    add_timestamps: bool | None = False
    keep_on: Annotated[bool | None, Field(alias="continue")] = False
    """Whether more of the transcript follows in this context."""
    flush: bool | None = False
    max_buffer_delay_ms: Annotated[int, Field(ge=0)] | None = None

    @property
    def ignored(self) -> dict[str, str]:
        """A header that names the fields which nothing was done with."""
        parts = {"output_format": self.output_format, "generation_config": self.generation_config}
        inner = [f"{place}.{name}" for place, part in parts.items() if part for name in part.model_extra]
        return ignored_fields([*self.model_extra, *inner])

    async def to_tts_request(self, gateway: Gateway) -> TtsRequest:
        """A clip. Raises ApiError."""
        output = self.output_format
        fields = {
            **await self._options(gateway),
            **clip_fields(self.transcript, Tags(CUES)),
            "format": output.format,
            "bit_rate": output.bit_rate,
        }
        return translated(fields, "transcript")

    async def to_start(self, gateway: Gateway) -> Start:
        """A live session."""
        return Start(type="start", **await self._options(gateway))

    async def _options(self, gateway: Gateway) -> dict[str, Any]:
        voice = self.voice
        if _THEIR_VOICE.fullmatch(voice) and not await gateway.voices.knows(voice):
            voice = "default"
        config_speed = self.generation_config.speed if self.generation_config else None
        return {
            "voice": voice,
            **named_model(self.model_id, served_models(gateway.pool)),
            "language": self.language or self.locale,
            "timestamps": "word" if self.add_timestamps else "none",
            "sample_rate": self.output_format.sample_rate,
            "normalize": "off" if self.normalization == "off" else "auto",
            "speed": config_speed or self.speed or 1.0,
        }

    def check_raw(self) -> None:
        """Raise ApiError for what does not come as a stream of messages."""
        if self.output_format.container != "raw":
            message = "output_format.container: only raw comes in messages"
            raise ApiError(422, "invalid_value", message, param="output_format.container")
