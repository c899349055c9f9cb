"""What clients of vLLM-Omni say over its socket."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from gateway.adapters.naming import named_model
from gateway.audio.formats import FileFormat
from gateway.errors import ApiError, FieldError, from_validation
from gateway.live.messages import Start
from gateway.protocols.openai.request import PCM_RATE, OpenAiSpeechOptions
from gateway.requests import SpeechOptions, Text, fields_of


class Config(OpenAiSpeechOptions):
    """How to speak: the first message, and again between texts. What means nothing here is ignored, as
    `task_type` and `max_new_tokens`.
    """

    type: Literal["session.config"]
    response_format: FileFormat = "wav"
    stream_audio: bool = False
    """Send pcm while it is generated; else each file is sent whole."""
    split_granularity: Literal["none", "sentence", "clause"] = "none"
    """What one file holds. none: all text up to `input.done`; else a sentence, which is the least here."""
    word_timestamps: bool = False

    @model_validator(mode="after")
    def _can_be_had(self) -> Self:
        if self.stream_audio and self.response_format != "pcm":
            message = "stream_audio: what is streamed is pcm, so response_format must be pcm"
            raise FieldError("response_format", "invalid_value", message)
        if self.word_timestamps:
            message = "word_timestamps: not told here, but over /ws/live and by /tts, as timestamps"
            raise FieldError("word_timestamps", "not_supported", message)
        return self

    def to_start(self, served_models: set[str]) -> Start:
        """A live session. PCM has the sample rate that OpenAI's has. Raises ApiError."""
        shared = self.model_dump(include=set(SpeechOptions.model_fields), exclude_none=True)
        shared |= named_model(self.model, served_models)
        if self.response_format == "pcm":
            shared.setdefault("sample_rate", PCM_RATE)
        try:
            return Start(type="start", **shared)
        except ValidationError as error:
            raise from_validation(error.errors()) from error


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Input(_Message):
    """More text."""

    type: Literal["input.text"]
    text: Text = ""


class Done(_Message):
    """All of a text has come: say the rest of it."""

    type: Literal["input.done"]


class Close(_Message):
    """Say what there is, and close the socket."""

    type: Literal["session.close"]


Message = Config | Input | Done | Close
_messages: TypeAdapter[Any] = TypeAdapter(Annotated[Message, Field(discriminator="type")])


def read_message(text: str) -> Message:
    """One of them. Raises ApiError."""
    fields = fields_of(text)
    try:
        return _messages.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith("union_tag"):
            message = "type must be session.config, input.text, input.done or session.close"
            raise ApiError(422, "invalid_message", message, param="type") from error
        raise from_validation([{**first, "loc": first["loc"][1:]}]) from error
