"""What ElevenLabs' clients ask for: the body and the query of a clip, and the voice in its path."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.adapters.naming import named_model
from gateway.errors import ApiError
from gateway.protocols.elevenlabs.formats import DEFAULT_FORMAT, output_format
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.protocols.tags import ANY_CUE, Tags, clip_fields
from gateway.requests import Language, Text, TtsRequest, translated
from gateway.service import Gateway
from gateway.voices.catalog import served_models

ELEVENLABS = "elevenlabs"
"""The protocol's name, in metrics and sessions."""
_THEIR_VOICE = re.compile(r"[A-Za-z0-9]{20}")


class VoiceSettings(Lenient):
    """How to speak. What shapes their models (stability and so on) does nothing here."""

    speed: Annotated[float, Field(ge=0.25, le=4)] | None = None


class ElevenLabsClip(Lenient):
    """The body of a clip. Unknown fields are ignored."""

    text: Text
    model_id: str | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    language_code: Language | None = None
    voice_settings: VoiceSettings | None = None
    apply_text_normalization: Literal["auto", "on", "off"] = "auto"

    @property
    def ignored(self) -> dict[str, str]:
        """A header that names the fields which nothing was done with."""
        settings = self.voice_settings.model_extra if self.voice_settings else {}
        return ignored_fields([*self.model_extra, *(f"voice_settings.{name}" for name in settings)])

    def to_tts_request(self, gateway: Gateway, voice: str, format_name: str | None) -> TtsRequest:
        """The request as a `TtsRequest`. Raises ApiError."""
        output = output_format(format_name or DEFAULT_FORMAT)
        fields = {
            **clip_fields(self.text, Tags(cues_of(self.model_id))),
            "voice": voice,
            **known_model(gateway, self.model_id),
            "seed": self.seed,
            "language": self.language_code,
            "speed": (self.voice_settings.speed if self.voice_settings else None) or 1.0,
            "normalize": self.apply_text_normalization,
            "format": output.format,
            "sample_rate": output.sample_rate,
            "bit_rate": output.bit_rate,
        }
        return translated(fields)


def cues_of(model: str | None) -> str | None:
    """What a model of theirs does and does not read where it stands in brackets; None: nothing."""
    return ANY_CUE if model is not None and model.startswith(("eleven_v3", "eleven_v4")) else None


def known_model(gateway: Gateway, name: str | None) -> dict[str, Any]:
    """Model and adapter that their `model_id` means; see `named_model`."""
    return named_model(name, served_models(gateway.pool))


async def known_voice(gateway: Gateway, id: str) -> str:
    """The voice of a path. An id of ElevenLabs' that nobody has here means the default voice, since many
    clients come with one.
    """
    if len(id) > 128:
        raise ApiError(404, "unknown_voice", "there is no such voice", param="voice_id")
    if _THEIR_VOICE.fullmatch(id) and not await gateway.voices.knows(id):
        return "default"
    return id
