"""What may be asked for, and how it is spoken."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, field_validator

from gateway.settings.kinds import Bytes, Seconds, off_is_a_word


class SpeechSettings(BaseModel):
    """What may be asked for, and how it is spoken."""

    max_text_characters: Annotated[int, Field(gt=0)] = 100_000
    """Longest text of a request whose audio comes while it is generated."""
    max_clip_characters: Annotated[int, Field(gt=0)] = 4096
    """Longest text of a request for one whole file, which is in memory until it is complete."""
    max_audio_seconds: Seconds = 7200.0
    """Bound of `min_seconds` and `max_seconds` of a request, and of the speech of every clip."""
    max_clip_seconds: Seconds = 600.0
    """`max_audio_seconds` of a clip that is sent as one whole file."""
    max_encode_bytes: Bytes = 128 << 20
    """Size of a WAV file that a client has encoded in another format."""
    voice_aliases: dict[str, str] = Field(default_factory=dict)
    """Further names of voices: `{alias: name or id}`, in the environment as JSON. Case does not matter."""
    lexicon_file: Path | None = None
    """How words are said, for everybody: a YAML or JSON file of words and what is said for them."""
    provenance_note: bool = True
    """Files of generated speech, and HTTP answers with it, say who made it and that a model did."""
    watermark: bool = False
    """Mark all speech inaudibly (Perth); `voxfleet detect` finds it. Needs the extra `watermark`."""
    aligner: Annotated[str, BeforeValidator(off_is_a_word)] = "auto"
    """Who listens to speech to tell when its words are said: a folder with a Whisper model for CTranslate2,
    `off`, or `auto`, the model of the extra `align` where that is installed. Otherwise times are estimated.
    """

    @field_validator("voice_aliases", mode="after")
    @classmethod
    def _distinct_aliases(cls, aliases: dict[str, str]) -> dict[str, str]:
        if len({name.casefold() for name in aliases}) != len(aliases):
            raise ValueError("two aliases differ in nothing but upper and lower case")
        return aliases
