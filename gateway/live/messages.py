"""What a client may say in a live session: `start` first, then any of the others in any order.

    {"type": "start", "voice": "slt", "seed": 7}
    {"type": "append", "text": "Good morn"}
    {"type": "flush"}
    {"type": "cancel", "played_samples": 30000}
    {"type": "pause"}  {"type": "resume"}  {"type": "stop"}
    {"type": "stats", ...}

What stands in `stats` is in `gateway/operations/measurements/playback.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gateway.bodies import Body
from gateway.errors import ApiError, from_validation
from gateway.requests import SpeechOptions, Text, TtsRequest, fields_of
from gateway.timing.words import Granularity

_MAX_SAMPLES = 1 << 40


class _Message(Body):
    model_config = ConfigDict(allow_inf_nan=False)


class Start(SpeechOptions):
    """What holds for the whole session."""

    type: Literal["start"]
    timestamps: Granularity = "none"
    """Tell when each word or character is said, after the audio of each sentence."""

    def request(self, text: str) -> TtsRequest:
        """One sentence of the session as a request of its own."""
        fields = self.model_dump(exclude={"type", "lexicon"}, exclude_none=True)
        return TtsRequest.model_validate({**fields, "text": text, "format": "pcm"})


class Append(_Message):
    """Append text to what is spoken."""

    type: Literal["append"]
    text: Text


class Flush(_Message):
    """Speak an incomplete sentence as it stands."""

    type: Literal["flush"]


class Cancel(_Message):
    """Barge-in: speak nothing of what was appended any more."""

    type: Literal["cancel"]
    played_samples: Annotated[int, Field(ge=0, le=_MAX_SAMPLES)] = 0
    """Position in all audio of the session up to which the listener heard it."""


class Pause(_Message):
    """Pause until `resume`."""

    type: Literal["pause"]


class Resume(_Message):
    """Go on after a pause."""

    type: Literal["resume"]


class Stop(_Message):
    """Speak what is appended, then end."""

    type: Literal["stop"]


class Stats(BaseModel):
    """A report of the player, see `gateway.operations.measurements.playback`, which checks its fields."""

    model_config = ConfigDict(extra="allow")

    type: Literal["stats"]


Command = Append | Flush | Cancel | Pause | Resume | Stop | Stats
_commands: TypeAdapter[Command] = TypeAdapter(Annotated[Command, Field(discriminator="type")])


def parse_start(text: str) -> Start:
    """The first message. Raises ApiError."""
    fields = fields_of(text)
    if fields.get("type") != "start":
        raise ApiError(422, "invalid_message", 'the first message has "type": "start"', param="type")
    try:
        return Start.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def parse_command(text: str) -> Command:
    """Any later message. Raises ApiError."""
    fields = fields_of(text)
    try:
        return _commands.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith("union_tag"):
            known = "append, flush, cancel, pause, resume, stop or stats"
            raise ApiError(422, "invalid_message", f"type must be {known}", param="type") from error
        raise from_validation([{**first, "loc": first["loc"][1:]}]) from error
