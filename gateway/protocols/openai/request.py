"""The body of `POST /v1/audio/speech`, with the fields of our own that many of its clients can send too."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, model_validator

from gateway.adapters.naming import named_model
from gateway.audio.formats import AudioFormat
from gateway.errors import FieldError
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.lenient import Lenient
from gateway.requests import Language, Name, SpeechOptions, Text, TtsRequest, translated
from gateway.service import Gateway
from gateway.text.ssml import PARAGRAPH_SECONDS

OPENAI = "openai"
"""The protocol's name, in metrics and sessions."""
OPENAI_VOICES = frozenset(
    (
        *("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable"),
        *("marin", "nova", "onyx", "sage", "shimmer", "verse"),
    )
)
_KOKORO_VOICE = re.compile(r"[abefhijpz][fm]_[a-z0-9]+(\(\d+(\.\d+)?\))?")
"""A name of Kokoro's: language, sex and name, and a weight among several that are joined by + or -."""
OPENAI_MODEL = re.compile(r"(tts-1(-hd)?|gpt-4o-mini-tts)(-\d{4}(-\d\d-\d\d)?)?")
"""A name of theirs for speech, with the date of a release or without."""
_QWEN_VOICES = frozenset(
    ("aiden", "dylan", "eric", "ono_anna", "ryan", "serena", "sohee", "uncle_fu", "vivian")
)
"""Those of Qwen3-TTS, which examples for vLLM-Omni name."""
_REFERENCES = ("ref_audio", "references", "speaker_embedding")
"""Fields of vLLM-Omni with somebody's voice."""
PCM_RATE = 24_000
_LANGUAGES = {
    "": None,
    "auto": None,
    "chinese": "zh",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
}
"""Words that clients of other services send as `language`."""


def voice_id(voice: Any) -> Any:
    """The id or name of a voice, which may be the `id` of an object."""
    return voice["id"] if isinstance(voice, dict) and voice.keys() == {"id"} else voice


def _language_code(language: Any) -> Any:
    return _LANGUAGES.get(language.strip().lower(), language) if isinstance(language, str) else language


async def known_voice(gateway: Gateway, voice: str, tenant: str) -> str:
    """The voice, or the default one for a name of OpenAI's, Kokoro's or Qwen3-TTS's that no voice has which
    the tenant sees: some clients know no other names.
    """
    if _is_theirs(voice) and not await gateway.voices.knows(voice, tenant):
        return "default"
    return voice


def _is_theirs(voice: str) -> bool:
    if voice.lower() in OPENAI_VOICES | _QWEN_VOICES:
        return True
    return all(map(_KOKORO_VOICE.fullmatch, re.split("[+-]", voice)))


class OpenAiSpeechOptions(Lenient, SpeechOptions):
    """How to speak, in the words of OpenAI's clients. `model` may be any name: one that nobody serves means
    whichever is served.
    """

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    voice: Annotated[Name, BeforeValidator(voice_id)] = "default"
    """A name or id, or an object with it as its `id`."""
    language: Annotated[Language | None, BeforeValidator(_language_code)] = None

    @model_validator(mode="before")
    @classmethod
    def _names_are_typed_by_hand(cls, values: Any) -> Any:
        """With a blank behind a comma, or left empty, which is to be as if they were left out."""
        if not isinstance(values, dict):
            return values
        typed = {
            name: said.strip() for name in ("model", "voice") if isinstance(said := values.get(name), str)
        }
        return {name: typed.get(name, value) for name, value in values.items() if typed.get(name) != ""}

    @model_validator(mode="before")
    @classmethod
    def _no_voice_of_a_recording(cls, values: Any) -> Any:
        """A voice needs a consent, and a request has none: it is not spoken with another voice either."""
        if isinstance(values, dict):
            for name in _REFERENCES:
                if values.get(name):
                    message = f"{name}: no request brings a voice: make one once, with a consent, and name it"
                    raise FieldError(name, "not_supported", message)
        return values

    @property
    def ignored(self) -> dict[str, str]:
        """A header that names the fields which nothing was done with."""
        return ignored_fields(self.model_extra)


class OpenAiSpeechRequest(OpenAiSpeechOptions):
    """The body."""

    input: Text
    response_format: AudioFormat = "mp3"
    stream_format: Literal["audio", "sse"] = "audio"
    stream: bool | None = None
    """Not OpenAI's: send the file while it is generated, or whole. None: as the format allows."""
    input_type: Literal["text", "ssml"] = "text"
    bit_rate: int | None = None
    paragraph_pause: float = PARAGRAPH_SECONDS
    min_seconds: float | None = None
    max_seconds: float | None = None

    @property
    def comes_whole(self) -> bool:
        """Whether the file is sent when it is complete. A FLAC file is, unless a stream is asked for: without
        its length in its header libsndfile cannot read it.
        """
        if self.stream_format == "sse":
            return False
        return self.response_format == "flac" if self.stream is None else not self.stream

    def to_tts_request(self, served_models: set[str]) -> TtsRequest:
        """The request as a `TtsRequest`; a model name that nobody serves is left out.

        PCM has OpenAI's sample rate, which its clients take for granted. Raises ApiError.
        """
        shared = self.model_dump(include=set(SpeechOptions.model_fields), exclude_none=True)
        rate = PCM_RATE if self.response_format == "pcm" else None
        fields = {
            **shared,
            "text": self.input,
            **named_model(self.model, served_models),
            "format": self.response_format,
            "sample_rate": self.sample_rate or rate,
            "input_type": self.input_type,
            "bit_rate": self.bit_rate,
            "paragraph_pause": self.paragraph_pause,
            "min_seconds": self.min_seconds,
            "max_seconds": self.max_seconds,
        }
        return translated(fields, "input")
