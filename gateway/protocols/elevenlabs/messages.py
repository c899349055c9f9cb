"""What clients say over `stream-input` and `multi-stream-input`, and what stands in the query."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from gateway.errors import from_validation
from gateway.live.messages import Start
from gateway.protocols.elevenlabs.formats import DEFAULT_FORMAT, OutputFormat, output_format
from gateway.protocols.elevenlabs.request import VoiceSettings, cues_of, known_model
from gateway.protocols.lenient import Lenient
from gateway.protocols.tags import Tags
from gateway.requests import Language, Text, fields_of
from gateway.service import Gateway


class Message(Lenient):
    """One of them; what is unknown, or means nothing here, is ignored."""

    text: Text | None = None
    flush: bool | None = None
    voice_settings: VoiceSettings | None = None
    context_id: Annotated[str, Field(max_length=128)] | None = Field(
        None, validation_alias=AliasChoices("context_id", "contextId")
    )
    close_context: bool | None = None
    close_socket: bool | None = None
    key: str | None = Field(
        None, validation_alias=AliasChoices("xi-api-key", "xi_api_key", "authorization"), repr=False
    )
    """An API key, for clients that can send no header."""

    @property
    def api_key(self) -> str | None:
        """Without the word that may stand before it."""
        return self.key.removeprefix("Bearer ").strip() if self.key else None


Kind = TypeVar("Kind", bound=Message)


def _read(kind: type[Kind], text: str) -> Kind:
    try:
        return kind.model_validate(fields_of(text))
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def read_message(text: str) -> Message:
    """A message of `stream-input`, from its JSON. Raises ApiError."""
    return _read(Message, text)


MOST_LINES = 100
"""Of a request, or a message."""


class Line(Lenient):
    """What one voice says."""

    text: Text
    voice_id: Text
    new_turn: bool | None = None
    """Whether what was said before is complete."""


class LinesMessage(Message):
    """The same of a dialogue."""

    inputs: Annotated[list[Line], Field(max_length=MOST_LINES)] | None = None
    voices: list[Text] | None = None
    keep_alive: bool | None = None


def read_lines(text: str) -> LinesMessage:
    """Raises ApiError."""
    return _read(LinesMessage, text)


class _Query(BaseModel):
    """What holds for all contexts of a socket."""

    model_config = ConfigDict(extra="ignore")

    model_id: str | None = None
    output_format: str = DEFAULT_FORMAT
    language_code: Language | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    auto_mode: bool = False
    sync_alignment: bool = False
    apply_text_normalization: Literal["auto", "on", "off"] = "auto"


class Options:
    """The query of a socket, understood."""

    def __init__(self, query: QueryParams) -> None:
        """Raises ApiError."""
        try:
            self._query = _Query.model_validate(dict(query))
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        self.output: OutputFormat = output_format(self._query.output_format, over_socket=True)

    @property
    def speaks_at_once(self) -> bool:
        """Whether each message holds a whole sentence or more."""
        return self._query.auto_mode

    @property
    def tells_times(self) -> bool:
        """Whether the client asks for the times of characters, where they are not told anyway."""
        return self._query.sync_alignment

    @property
    def tags(self) -> Tags:
        """The tags that the model's text may have."""
        return Tags(cues_of(self._query.model_id))

    def start(self, gateway: Gateway, voice: str, settings: VoiceSettings | None) -> Start:
        """The beginning of a context. Raises ApiError."""
        query = self._query
        fields: dict[str, Any] = {
            "type": "start",
            "timestamps": "character",
            "voice": voice,
            **known_model(gateway, query.model_id),
            "language": query.language_code,
            "seed": query.seed,
            "speed": (settings.speed if settings else None) or 1.0,
            "sample_rate": self.output.sample_rate,
            "normalize": query.apply_text_normalization,
        }
        try:
            return Start.model_validate(fields)
        except ValidationError as error:
            raise from_validation(error.errors()) from error
